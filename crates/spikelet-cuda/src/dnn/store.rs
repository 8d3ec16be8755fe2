//! Choices of engines as files: `<key>.convolution`, a header with the key and a checksum, then
//! the engine and its knobs, each number in eight bytes.
//!
//! Several processes may use the folder at the same time: a file is written under another name and
//! renamed when it is whole, and one that is damaged all the same fails its checksum and is
//! replaced. A file has some hundred bytes, so that none is ever removed.

use super::Convolution;
use super::descriptor::Knob;
use super::problem::Choice;
use crate::cache::{folder, kernel_cache};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The hash of all that a choice depends on.
pub(super) type Key = [u8; 32];

/// The first bytes of a file; another layout has another number.
const MAGIC: &[u8; 16] = b"spikelet conv  1";

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1 << 16;

/// A folder of choices, or none.
pub(super) struct Store {
    folder: Option<PathBuf>,
}

impl Store {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The folder beside that of the kernels.
    pub(super) fn usual() -> Self {
        let kernels = kernel_cache().folder;
        Self::new(kernels.map(|kernels| kernels.with_file_name("convolutions")))
    }

    fn file(&self, key: &Key) -> Option<PathBuf> {
        let mut name = String::new();
        for byte in key {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push_str(".convolution");
        Some(self.folder.as_ref()?.join(name))
    }

    /// The choice of a key, if it is there and whole.
    pub(super) fn read(&self, key: &Key) -> Option<Choice> {
        let folder = self.folder.as_deref()?;
        if folder::objection(folder).is_some() {
            return None;
        }
        let (_, bytes) = folder::read(&self.file(key)?, LARGEST).ok()?;
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        let (its_key, rest) = rest.split_at_checked(key.len())?;
        let (checksum, numbers) = rest.split_at_checked(32)?;
        if magic != MAGIC || its_key != key || checksum != &Sha256::digest(numbers)[..] {
            return None;
        }
        let (numbers, rest) = numbers.as_chunks::<8>();
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

    /// Keeps a choice. A folder that cannot be written is no error: it is measured anew in each
    /// process then.
    pub(super) fn write(&self, key: &Key, choice: &Choice) {
        if let (Some(folder), Some(file)) = (&self.folder, self.file(key))
            && folder::objection(folder).is_none()
        {
            let _ = store(folder, &file, key, choice);
        }
    }
}

fn store(folder: &Path, file: &Path, key: &Key, choice: &Choice) -> io::Result<()> {
    let knobs = choice.knobs.iter();
    let numbers: Vec<u8> = [choice.engine]
        .into_iter()
        .chain(knobs.flat_map(|(knob, value)| [i64::from(knob.0), *value]))
        .flat_map(i64::to_le_bytes)
        .collect();
    folder::create(folder)?;
    let mut unfinished = tempfile::Builder::new()
        .prefix(".unfinished-convolution-")
        .tempfile_in(folder)?;
    unfinished.write_all(MAGIC)?;
    unfinished.write_all(key)?;
    unfinished.write_all(&Sha256::digest(&numbers))?;
    unfinished.write_all(&numbers)?;
    unfinished.persist(file)?;
    Ok(())
}

/// The key of a convolution on a kind of GPU, for a version of cuDNN.
pub(super) fn key(c: &Convolution, gpu: &str, version: usize) -> Key {
    // Every field is in the text, between marks that no number contains.
    let text = format!(
        "{c:?}\n{gpu}\ncuDNN {version}\n{}",
        env!("CARGO_PKG_VERSION")
    );
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
    fn what_is_written_is_read() {
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
    fn a_damaged_truncated_or_foreign_file_is_not_read_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Some(folder.path().to_path_buf()));
        let [choice, _] = choices();
        store.write(&[1; 32], &choice);
        let file = store.file(&[1; 32]).unwrap();
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(store.read(&[1; 32]), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(store.read(&[1; 32]), None, "length {at}");
        }
        fs::write(store.file(&[2; 32]).unwrap(), &whole).unwrap();
        assert_eq!(store.read(&[2; 32]), None);
        store.write(&[1; 32], &choice);
        assert_eq!(store.read(&[1; 32]), Some(choice));
    }
}
