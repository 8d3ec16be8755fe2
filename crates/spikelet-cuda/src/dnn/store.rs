//! Choices of engines as files of a [`DiskStore`]: the engine and its knobs, each number in eight
//! bytes.

use super::Convolution;
use super::descriptor::Knob;
use super::problem::Choice;
use crate::cache::disk_store::{DiskStore, Format};
use crate::cache::{Key, kernel_cache};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

static FORMAT: Format = Format {
    magic: b"spikelet conv  1",
    suffix: ".convolution",
    contents: "choices of cuDNN's engines",
};

/// The choices in a folder.
pub(super) struct Store(DiskStore);

impl Store {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self(DiskStore::new(folder, &FORMAT))
    }

    /// The choices in the default folder, beside that of the kernels.
    pub(super) fn in_default_folder() -> Self {
        let kernels = kernel_cache().folder;
        Self::new(kernels.map(|kernels| kernels.with_file_name("convolutions")))
    }

    /// The choice stored for a key.
    pub(super) fn read(&self, key: &Key) -> Option<Choice> {
        let bytes = self.0.read(key)?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        let numbers: Vec<i64> = numbers.iter().copied().map(i64::from_le_bytes).collect();
        let (engine, knobs) = numbers.split_first()?;
        let (knobs, odd) = knobs.as_chunks::<2>();
        if !rest.is_empty() || !odd.is_empty() {
            return None;
        }
        Some(Choice {
            engine: *engine,
            knobs: knobs
                .iter()
                .map(|[knob, value]| Some((Knob(u32::try_from(*knob).ok()?), *value)))
                .collect::<Option<_>>()?,
        })
    }

    /// Stores a choice. If the folder cannot be written, engines are measured in each process.
    pub(super) fn write(&self, key: &Key, choice: &Choice) {
        let knobs = choice.knobs.iter();
        let numbers: Vec<u8> = [choice.engine]
            .into_iter()
            .chain(knobs.flat_map(|(knob, value)| [i64::from(knob.0), *value]))
            .flat_map(i64::to_le_bytes)
            .collect();
        self.0.write(key, &numbers);
    }
}

/// The key of a convolution on a kind of GPU, for a version of cuDNN.
pub(super) fn key(c: &Convolution, gpu: &str, version: usize) -> Key {
    // The text has every field, delimited.
    let text = format!(
        "{c:?}\n{gpu}\ncuDNN {version}\n{}",
        env!("CARGO_PKG_VERSION")
    );
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> [Choice; 2] {
        let knobs = vec![(Knob(2), 17), (Knob(40), -1)];
        [
            Choice { engine: 5, knobs },
            Choice {
                engine: 1009,
                knobs: vec![],
            },
        ]
    }

    #[test]
    fn a_choice_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Some(folder.path().join("a/b")));
        assert_eq!(store.read(&[0; 32]), None);
        for (k, choice) in choices().iter().enumerate() {
            store.write(&[k as u8; 32], choice);
            assert_eq!(store.read(&[k as u8; 32]).as_ref(), Some(choice));
        }
        Store::new(None).write(&[0; 32], &choices()[0]);
        assert_eq!(Store::new(None).read(&[0; 32]), None);
    }

    #[test]
    fn content_that_is_not_a_choice_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Some(folder.path().to_path_buf()));
        for length in [0, 7, 9, 16] {
            store.0.write(&[1; 32], &vec![0; length]);
            assert_eq!(store.read(&[1; 32]), None, "{length} bytes");
        }
    }
}
