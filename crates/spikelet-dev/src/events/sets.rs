//! Data sets: their samples with labels and digests of their events.

use super::{Item, Output};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spikelet_events::{EventBuffer, EventDataset, EventSet, SamplePart};

/// The folder of a set's files, and its name here.
const SETS: [(&str, &str); 12] = [
    ("NMNIST", "n-mnist"),
    ("NCaltech101", "n-caltech101"),
    ("CIFAR10DVS", "cifar10-dvs"),
    ("CIFAR10DVS_aedat4", "cifar10-dvs"),
    ("DVS128Gesture", "dvs128-gesture"),
    ("SHD", "shd"),
    ("SSC", "ssc"),
    ("ASLDVS", "asl-dvs"),
    ("DVSLip", "dvs-lip"),
    ("ESImageNet", "es-imagenet"),
    ("NCARS", "n-cars"),
    ("Gen1", "gen1"),
];

/// Reads all samples of the set that the item names.
pub fn run(item: &Item) -> Result<Output, String> {
    let id = &item.id;
    let known = SETS.iter().find(|(folder, _)| folder == id);
    let (_, name) = known.ok_or_else(|| format!("no data set has the folder `{id}`"))?;
    let set = EventSet::find(name).map_err(|e| e.to_string())?;
    let data = set
        .open(item.path("datasets").join(id))
        .map_err(|e| e.to_string())?;
    let samples = (0..data.samples().len()).map(|index| sample(&data, index));
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    Ok(Output::json(json!({ "samples": samples })))
}

fn sample(data: &EventDataset, index: usize) -> Result<Value, String> {
    let sample = &data.samples()[index];
    let events = data.read(index).map_err(|e| e.to_string())?;
    let file = sample.file.to_str().ok_or("a file's name is not UTF-8")?;
    let class = sample.label.map(|label| &data.classes()[label as usize]);
    let mut found = json!({
        "split": sample.split.name(), "file": file, "count": events.len(),
        "sha256": digest(&events), "label": sample.label, "class": class,
    });
    if let SamplePart::Index(at) = sample.part {
        found["index"] = json!(at);
    }
    Ok(found)
}

/// SHA-256 of t, x, y and p, one after the other, little-endian.
fn digest(events: &EventBuffer) -> String {
    let mut hash = Sha256::new();
    for t in &events.t {
        hash.update(t.to_le_bytes());
    }
    for value in events.x.iter().chain(&events.y) {
        hash.update(value.to_le_bytes());
    }
    hash.update(&events.p);
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
