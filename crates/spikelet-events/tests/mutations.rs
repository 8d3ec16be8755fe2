//! Readers survive any bytes: files with bytes changed, cut, inserted and overwritten by huge numbers.
//!
//! The environment variable `SPIKELET_MUTATIONS` sets the number of mutations of each file, 300 by default.

use std::fs;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use spikelet_events::{ErrorKind, EventBuffer, EventReader, Format, Options, open};

/// Random numbers that depend on nothing but the seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Changes a file in one to four places.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        // Half of the changes are in the first bytes, where headers and counts are.
        let range = match random.below(2) {
            0 => bytes.len().min(256),
            _ => bytes.len(),
        };
        let at = random.below(range);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let end = bytes.len().min(at + 1 + random.below(40));
                bytes.drain(at..end);
            }
            2 => {
                let count = 1 + random.below(40);
                let inserted: Vec<u8> = (0..count).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, inserted);
            }
            3 => {
                let huge = [u64::MAX, 1 << 63, 0x7fff_ffff, 0xffff_fffe, 1 << 40, 0];
                let huge = huge[random.below(huge.len())].to_le_bytes();
                let len = [1, 2, 4, 8][random.below(4)];
                for (byte, new) in bytes.iter_mut().skip(at).zip(&huge[..len]) {
                    *byte = *new;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// The most events in a byte of a file.
fn largest_expansion(format: Format) -> usize {
    match format.name() {
        "evt2.1" => 4,
        "evt3" => 6,
        // Compressed packets of zeros.
        "aedat4" => 512,
        // Members of a zip file, or compressed elements.
        name if name.starts_with("np") || name.starts_with("mat") => 2048,
        _ => 1,
    }
}

/// The number of events of a file, read in blocks.
fn read_blocks(bytes: &[u8], options: &Options, path: &Path) -> usize {
    let reader = match EventReader::from_stream(Cursor::new(bytes.to_vec()), options) {
        Err(error) if matches!(*error.kind, ErrorKind::UnknownFormat { .. }) => {
            fs::write(path, bytes).expect("a temporary file");
            open(path, options)
        }
        reader => reader,
    };
    let Ok(mut reader) = reader else {
        return 0;
    };
    let mut block = EventBuffer::default();
    let mut count = 0;
    while let Ok(true) = reader.read_block(&mut block) {
        count += block.len();
        block.clear();
    }
    count
}

/// The files of all known formats.
fn files() -> Vec<(PathBuf, Format)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files = vec![];
    for kind in ["formats", "corrupt"] {
        let text = fs::read_to_string(fixtures.join(kind).join("MANIFEST.json")).expect("a list");
        let manifest: Value = serde_json::from_str(&text).expect("JSON");
        for item in manifest["items"].as_array().expect("items") {
            let name = |key: &str| item[key].as_str().expect("a name");
            if let Ok(format) = Format::from_name(name("format")) {
                files.push((fixtures.join(name("file")), format));
            }
        }
    }
    files
}

#[test]
fn mutated_files_give_bounded_events_or_an_error() {
    let mutations = std::env::var("SPIKELET_MUTATIONS");
    let mutations: u64 = mutations.map_or(300, |n| n.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mutated");
    for (number, (file, format)) in files().into_iter().enumerate() {
        let whole = fs::read(&file).expect("a file");
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        for mutation in 0..mutations {
            let mut bytes = whole.clone();
            mutate(&mut bytes, &mut Random((number as u64) << 40 | mutation));
            let read = catch_unwind(AssertUnwindSafe(|| read_blocks(&bytes, &options, &path)));
            let place = format!("mutation {mutation} of {}", file.display());
            let events = read.unwrap_or_else(|_| panic!("{place}: a panic"));
            let limit = 100 + bytes.len() * largest_expansion(format);
            assert!(
                events <= limit,
                "{place}: {events} events of {} bytes",
                bytes.len()
            );
        }
    }
}
