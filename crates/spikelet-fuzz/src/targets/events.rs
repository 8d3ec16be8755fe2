//! Readers of event files in every format, of packs, and of archives of data sets.

use super::written;
use serde_json::Value;
use spikelet_events::pack::{Pack, PackInfo, SampleInfo, Writer, fuzzing};
use spikelet_events::{EventBuffer, Format, Options, Sensor, Split, open, unpack};
use std::path::Path;

/// The files of the tests of the formats; the first byte of an input is the index of its format.
pub fn file_corpus(_: &Path) -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spikelet-events/tests/fixtures");
    let list = std::fs::read(fixtures.join("formats/MANIFEST.json")).expect("the tests' files");
    let list: Value = serde_json::from_slice(&list).expect("JSON");
    let input = |item: &Value| {
        let format = Format::find(item["format"].as_str()?).ok()?;
        let index = Format::ALL.iter().position(|&own| own == format)?;
        let file = std::fs::read(fixtures.join(item["file"].as_str()?)).ok()?;
        Some([&[index as u8][..], &file].concat())
    };
    let items = list["items"].as_array().expect("a list");
    items.iter().filter_map(input).collect()
}

pub fn file(bytes: &[u8], folder: &Path) {
    let Some((&format, bytes)) = bytes.split_first() else {
        return;
    };
    let path = written(folder, "events", bytes);
    for format in [Format::ALL.get(usize::from(format)).copied(), None] {
        let options = Options {
            format,
            ..Options::default()
        };
        let Ok(mut reader) = open(&path, &options) else {
            continue;
        };
        let mut events = EventBuffer::default();
        while let Ok(true) = reader.read_block(&mut events) {
            events.clear();
        }
    }
}

/// A pack, and the bytes of a sample.
pub fn pack_corpus(folder: &Path) -> Vec<Vec<u8>> {
    let mut events = EventBuffer::default();
    for k in 0..2000_u32 {
        let (x, y) = (k.wrapping_mul(7919) % 300, k.wrapping_mul(104_729) % 34);
        events.push(
            i64::from(k * k % 90 + k * 70),
            x as u16,
            y as u16,
            k % 3 == 0,
        );
    }
    let path = folder.join("pack-corpus");
    let info = PackInfo {
        name: "own".into(),
        sensor: Some(Sensor::new(300, 34)),
        classes: vec!["cat".into()],
    };
    let mut writer = Writer::create(&path, &info).expect("the folder can be written");
    for label in [Some(0), None] {
        let pushed = writer.push(&events, SampleInfo::new(Split::Train, label));
        pushed.expect("valid events");
    }
    writer.finish().expect("the folder can be written");
    let file = std::fs::read(&path).expect("the file was written");
    vec![file, fuzzing::valid_sample(&events)]
}

pub fn pack(bytes: &[u8], folder: &Path) {
    fuzzing::decode(bytes);
    let path = written(folder, "pack", bytes);
    if let Ok(pack) = Pack::open(&path) {
        for index in 0..pack.len() {
            let _ = pack.read(index, &mut EventBuffer::default());
        }
    }
}

/// The archives of the tests.
pub fn archive_corpus(_: &Path) -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spikelet-events/tests/fixtures");
    let files = std::fs::read_dir(fixtures.join("archives")).expect("the tests' files");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort_unstable();
    let archives = files.iter().map(std::fs::read);
    archives.map(|bytes| bytes.expect("a file")).collect()
}

pub fn archive(bytes: &[u8], folder: &Path) {
    let path = written(folder, "event-archive", bytes);
    let unpacked = folder.join("unpacked");
    let _ = unpack(&path, &unpacked, &mut |_, _| {});
    // Without a folder, nothing was unpacked.
    let _ = std::fs::remove_dir_all(&unpacked);
}
