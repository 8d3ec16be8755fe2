//! Readers survive any bytes: files with bytes changed, cut, inserted and overwritten by huge numbers.
//!
//! The environment variable `SPIKELET_MUTATIONS` sets the number of mutations of each file, 100 by default.

use crate::common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use spikelet_nir::{Graph, Limits, WeightOptions, Weights};

/// The longest time that a reader may take.
const PATIENCE: Duration = Duration::from_secs(10);

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
            0 => bytes.len().min(2048),
            _ => bytes.len(),
        };
        let at = random.below(range);
        match random.below(8) {
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
            3 | 4 => {
                let huge = [u64::MAX, 1 << 63, 0x7fff_ffff, 0xffff_fffe, 1 << 40, 0];
                let huge = huge[random.below(huge.len())].to_le_bytes();
                let len = [1, 2, 4, 8][random.below(4)];
                for (byte, new) in bytes.iter_mut().skip(at).zip(&huge[..len]) {
                    *byte = *new;
                }
            }
            5 => {
                // A part of the file occurs again elsewhere: references to other structures.
                let (from, len) = (random.below(bytes.len()), 1 + random.below(16));
                let part: Vec<u8> = bytes.iter().skip(from).take(len).copied().collect();
                for (byte, new) in bytes.iter_mut().skip(at).zip(part) {
                    *byte = new;
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

/// The number of mutations of each file.
fn mutations() -> u64 {
    let mutations = std::env::var("SPIKELET_MUTATIONS");
    mutations.map_or(100, |n| n.parse().expect("a number"))
}

/// Reads mutated files. `read` gives the bytes of what was read.
fn survives(files: Vec<(String, Vec<u8>)>, read: impl Fn(Vec<u8>) -> usize) {
    for (number, (name, whole)) in files.into_iter().enumerate() {
        for mutation in 0..mutations() {
            let mut bytes = whole.clone();
            mutate(&mut bytes, &mut Random((number as u64) << 40 | mutation));
            let (len, start) = (bytes.len(), Instant::now());
            let result = catch_unwind(AssertUnwindSafe(|| read(bytes)));
            let place = format!("mutation {mutation} of {name}");
            let found = result.unwrap_or_else(|_| panic!("{place}: a panic"));
            assert!(start.elapsed() < PATIENCE, "{place}: {:?}", start.elapsed());
            // A byte decompresses to 1032 at most.
            let limit = 1100 * len;
            assert!(found <= limit, "{place}: {found} bytes of {len}");
        }
    }
}

#[test]
fn mutated_graphs_are_read_or_refused() {
    let mut files = common::files("golden", &[".nir"]);
    files.extend(common::files("bad", &[".nir"]));
    // Each mutation of the bomb takes as long as the bomb.
    files.retain(|(name, _)| name != "deflate_bomb.nir");
    survives(files, |bytes| {
        let Ok(graph) = Graph::from_bytes(bytes, &Limits::default()) else {
            return 0;
        };
        let _ = graph.check();
        let parameters = graph
            .nodes
            .values()
            .flat_map(|node| node.kind.elementwise_parameters());
        parameters.map(|(_, tensor)| tensor.bytes().len()).sum()
    });
}

fn tensor_bytes(bytes: Vec<u8>) -> usize {
    let weights = Weights::from_bytes(bytes, &WeightOptions::default());
    let weights = weights.unwrap_or_default();
    weights.iter().map(|(_, tensor)| tensor.bytes().len()).sum()
}

#[test]
fn mutated_weights_are_read_or_refused() {
    let endings = [".pt", ".pth", ".ckpt", ".tar", ".safetensors"];
    let mut files = common::files("weights", &endings);
    files.extend(common::files("hostile", &endings));
    files.retain(|(name, _)| !name.starts_with("zip_bomb") && !name.starts_with("deep"));
    survives(files, tensor_bytes);
}

#[test]
fn mutated_pickles_in_valid_archives_are_read_or_refused() {
    // Checksums find every change of a record: it is changed before the archive is made.
    let mut files = common::files("weights", &[".pt", ".pth", ".ckpt"]);
    files.extend(common::files("hostile", &[".pt"]));
    files.retain(|(name, bytes)| {
        bytes.starts_with(b"PK\x03\x04") && !name.contains("zip") && !name.starts_with("deep")
    });
    for (name, file) in files {
        let members = common::members(&file);
        let pickles = members
            .iter()
            .filter(|(name, _)| name.ends_with("data.pkl"));
        let pickles = pickles.map(|(record, bytes)| (format!("{name}, {record}"), bytes.clone()));
        survives(pickles.take(1).collect(), |pickle| {
            let replaced = |(name, bytes): &(String, Vec<u8>)| match name.ends_with("data.pkl") {
                true => (name.clone(), pickle.clone()),
                false => (name.clone(), bytes.clone()),
            };
            let members: Vec<(String, Vec<u8>)> = members.iter().map(replaced).collect();
            let members: Vec<(&str, Vec<u8>)> = members
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.clone()))
                .collect();
            tensor_bytes(common::archive(&members)).saturating_sub(1100 * file.len())
        });
    }
}
