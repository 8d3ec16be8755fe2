//! Readers survive any bytes: files with bytes changed, cut, inserted and overwritten by huge numbers.
//!
//! The environment variable `SPIKELET_MUTATIONS` sets the number of mutations of each file, 300 by default.

use std::fs;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use spikelet_events::{ErrorKind, EventBuffer, EventReader, Format, Options, open, unpack};

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

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The files of all known formats.
fn files() -> Vec<(PathBuf, Format)> {
    let fixtures = fixtures();
    let mut files = vec![];
    for kind in ["formats", "corrupt"] {
        let text = fs::read_to_string(fixtures.join(kind).join("MANIFEST.json")).expect("a list");
        let manifest: Value = serde_json::from_str(&text).expect("JSON");
        for item in manifest["items"].as_array().expect("items") {
            let name = |key: &str| item[key].as_str().expect("a name");
            if let Ok(format) = Format::find(name("format")) {
                files.push((fixtures.join(name("file")), format));
            }
        }
    }
    files
}

/// Reads mutations of a file; `read` gives the number of its elements, of which there are at most `limit` for a number of bytes.
fn read_mutations(
    file: &Path,
    seed: u64,
    mut read: impl FnMut(&[u8]) -> usize,
    limit: impl Fn(usize) -> usize,
) {
    let mutations = std::env::var("SPIKELET_MUTATIONS");
    let mutations: u64 = mutations.map_or(300, |n| n.parse().expect("a number"));
    let whole = fs::read(file).expect("a file");
    for mutation in 0..mutations {
        let mut bytes = whole.clone();
        mutate(&mut bytes, &mut Random(seed << 40 | mutation));
        let began = Instant::now();
        let read = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let place = format!("mutation {mutation} of {}", file.display());
        let read = read.unwrap_or_else(|_| panic!("{place}: a panic"));
        let len = bytes.len();
        assert!(read <= limit(len), "{place}: {read} of {len} bytes");
        assert!(began.elapsed().as_secs() < 10, "{place}: it takes too long");
    }
}

#[test]
fn mutated_files_give_bounded_events_or_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mutated");
    for (number, (file, format)) in files().into_iter().enumerate() {
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        read_mutations(
            &file,
            number as u64,
            |bytes| read_blocks(bytes, &options, &path),
            |bytes| 100 + bytes * largest_expansion(format),
        );
    }
}

#[cfg(feature = "hdf5")]
#[test]
fn mutated_spiking_audio_gives_bounded_spikes_or_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mutated.h5");
    for (seed, name) in ["SHD/shd_train.h5", "SSC/ssc_test.h5"]
        .into_iter()
        .enumerate()
    {
        read_mutations(
            &fixtures().join("datasets").join(name),
            1000 + seed as u64,
            |bytes| {
                fs::write(&path, bytes).expect("a temporary file");
                let audio = spikelet_events::read_spiking_audio(&path, 35);
                audio.map_or(0, |audio| audio.times.len() + audio.labels.len())
            },
            |bytes| 8 * bytes,
        );
    }
}

#[test]
fn mutated_archives_write_nothing_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let [archive, inner] = ["archive", "inner"].map(|name| folder.path().join(name));
    let files = fs::read_dir(fixtures().join("archives")).expect("a folder");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort_unstable();
    for (seed, file) in files.iter().enumerate() {
        let unpack = |bytes: &[u8]| {
            fs::write(&archive, bytes).expect("a temporary file");
            let unpacked = unpack(&archive, &inner, &mut |_, _| {});
            let found = fs::read_dir(folder.path()).expect("a folder");
            let found: Vec<_> = found
                .map(|item| item.expect("a file").file_name())
                .collect();
            assert!(
                found
                    .iter()
                    .all(|name| name == "archive" || name == "inner"),
                "{found:?}"
            );
            if inner.exists() {
                fs::remove_dir_all(&inner).expect("a temporary folder");
            }
            unpacked.map_or(0, |unpacked| unpacked.bytes as usize)
        };
        read_mutations(file, 2000 + seed as u64, unpack, |bytes| {
            (200 * bytes).max(64 << 20)
        });
    }
}
