//! ES-ImageNet: images of ImageNet as events, computed by moving them along eight steps.
//!
//! Times are 1 … 8. Files of validation are in one folder, and `vallabel.txt` has a line for each: its name, its label,
//! the height and the width of the image. The archives are RAR files, which other programs unpack.
//!
//! Source: Y. Lin et al., ES-ImageNet: A Million Event-Stream Classification Dataset for Spiking Neural Networks, 2021.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Download, EventSample, EventSet, Listing, Split, Walk};
use crate::error::{Error, ErrorKind, Result};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(256, 256);

const CLASSES: u32 = 1000;

/// The labels of the files in `val`.
const LABELS: &str = "vallabel.txt";

pub(super) const SET: EventSet = EventSet {
    name: "es-imagenet",
    title: "ES-ImageNet",
    sensor: SENSOR,
    classes: &[],
    frames: "time-windows window=1 start=1 end=9",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Valid],
    layout: "ES-imagenet-0.18/train/class<label>/<name>.npz, ES-imagenet-0.18/val/<name>.npz and \
             ES-imagenet-0.18/vallabel.txt",
    page: "https://github.com/lyh983012/ES-imagenet-master",
    licence: "that of ImageNet",
    downloads: &[Download::without_checksum(
        "ES-imagenet-0.18.part01.rar … part25.rar",
    )],
    folders: &["ES-imagenet-0.18", "extract/ES-imagenet-0.18"],
    contains: &["train", "val"],
    options: Options {
        format: Some(Format::NpzEsImagenet),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list,
};

fn list(walk: &Walk<'_>) -> Result<Listing> {
    let mut samples = vec![];
    let train = walk.base.join("train");
    if walk.path(&train).is_dir() {
        let label = |name: &str| name.strip_prefix("class").and_then(parse_label);
        for name in walk.folders(&train)? {
            let folder = train.join(&name);
            let Some(label) = label(&name) else {
                return Err(walk.unexpected(&folder, "a folder that is no class0 … class999"));
            };
            let files = walk.files(&folder, "npz")?.into_iter();
            samples.extend(files.map(|file| EventSample::of_file(Split::Train, file, Some(label))));
        }
    }
    append_val(walk, &mut samples)?;
    let classes = (0..CLASSES).map(|label| label.to_string()).collect();
    Ok(walk.listing(classes, samples))
}

/// Appends the files of `val`, in the order of their labels.
fn append_val(walk: &Walk<'_>, samples: &mut Vec<EventSample>) -> Result<()> {
    let (folder, labels) = (walk.base.join("val"), walk.base.join(LABELS));
    if !walk.path(&folder).is_dir() {
        return Ok(());
    }
    let path = walk.path(&labels);
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|error| Error::from(ErrorKind::Open(error)).in_file(&path))?;
    let files: HashSet<PathBuf> = walk.files(&folder, "npz")?.into_iter().collect();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (name, label) = (words.next(), words.next().and_then(parse_label));
        let Some((name, label)) = name.zip(label) else {
            let found = format!("the line `{line}`, which is no name and label");
            return Err(walk.unexpected(&labels, &found));
        };
        let file = folder.join(name);
        if !files.contains(&file) {
            let found = format!("a line of {LABELS} that names it, and no such file");
            return Err(walk.unexpected(&file, &found));
        }
        samples.push(EventSample::of_file(Split::Valid, file, Some(label)));
    }
    Ok(())
}

fn parse_label(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&label| label < CLASSES)
}
