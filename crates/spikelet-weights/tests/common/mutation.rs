//! Files with bytes changed, cut, inserted and overwritten by huge numbers.
//!
//! The environment variable `SPIKELET_MUTATIONS` sets the number of mutations of each file, 100 by default.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

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
pub fn survives(files: Vec<(String, Vec<u8>)>, read: impl Fn(Vec<u8>) -> usize) {
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
