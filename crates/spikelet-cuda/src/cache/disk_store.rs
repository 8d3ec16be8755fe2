//! Files of a cache on disk: `<key>.<suffix>`, a header with the key and a checksum, then the
//! content.
//!
//! Several processes may use a folder at the same time. A file is written under a temporary name and
//! renamed when it is complete, so a reader sees all of it or nothing; a damaged file fails its
//! checksum and is replaced. The checksum does not authenticate the author of a file: the folder is
//! used only under the conditions of [`folder`]. Only files named as above are ever touched.

use super::{Key, folder};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The files of one cache.
pub(crate) struct Format {
    /// The first bytes of a file; a new layout gets a new number.
    pub(crate) magic: &'static [u8; 16],
    /// The end of a file's name.
    pub(crate) suffix: &'static str,
    /// The start of the name of a file that is being written.
    pub(crate) unfinished: &'static str,
    /// Bytes of the largest file that is read.
    pub(crate) largest: u64,
    /// The contents, in the plural.
    pub(crate) contents: &'static str,
}

impl Format {
    /// Bytes of a file before its content.
    pub(crate) const HEADER: usize = 16 + 32 + 32;
}

/// The files of one format in a folder; without a folder nothing is stored.
pub(crate) struct DiskStore {
    folder: Option<PathBuf>,
    format: &'static Format,
    warned: Once,
}

impl DiskStore {
    pub(crate) fn new(folder: Option<PathBuf>, format: &'static Format) -> Self {
        Self {
            folder,
            format,
            warned: Once::new(),
        }
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The path of a key's file.
    pub(crate) fn file(&self, key: &Key) -> Option<PathBuf> {
        let mut name = String::new();
        for byte in key {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push_str(self.format.suffix);
        Some(self.folder.as_ref()?.join(name))
    }

    /// The folder, if only this user can have written to it; otherwise a warning is logged once.
    fn trusted(&self) -> Option<&Path> {
        let folder = self.folder.as_deref()?;
        let Some(distrust_reason) = folder::distrust_reason(folder) else {
            return Some(folder);
        };
        self.warned.call_once(|| {
            let (contents, folder) = (self.format.contents, folder.display());
            tracing::warn!("{contents} are not cached in {folder}: {distrust_reason}");
        });
        None
    }

    /// The content stored for a key and its file; `None` if there is none or it is damaged.
    pub(crate) fn read(&self, key: &Key) -> Option<(File, Vec<u8>)> {
        self.trusted()?;
        let (file, mut bytes) = folder::read(&self.file(key)?, self.format.largest).ok()?;
        let (header, content) = bytes.split_at_checked(Format::HEADER)?;
        let expected = self.header(key, content);
        if header != &expected[..] {
            return None;
        }
        bytes.drain(..Format::HEADER);
        Some((file, bytes))
    }

    /// Stores a content. Returns the folder, or `None` if it cannot be written.
    pub(crate) fn write(&self, key: &Key, content: &[u8]) -> Option<&Path> {
        let (folder, file) = (self.trusted()?, self.file(key)?);
        self.write_file(folder, &file, key, content).ok()?;
        Some(folder)
    }

    fn write_file(&self, folder: &Path, file: &Path, key: &Key, content: &[u8]) -> io::Result<()> {
        folder::create(folder)?;
        let mut unfinished = self.unfinished(folder)?;
        unfinished.write_all(&self.header(key, content))?;
        unfinished.write_all(content)?;
        unfinished.persist(file)?;
        Ok(())
    }

    fn header(&self, key: &Key, content: &[u8]) -> Vec<u8> {
        [&self.format.magic[..], key, &Sha256::digest(content)].concat()
    }

    /// Creates a file to write to.
    pub(crate) fn unfinished(&self, folder: &Path) -> io::Result<tempfile::NamedTempFile> {
        tempfile::Builder::new()
            .prefix(self.format.unfinished)
            .tempfile_in(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    static FORMAT: Format = Format {
        magic: b"spikelet  test 1",
        suffix: ".test",
        unfinished: ".unfinished-test-",
        largest: 1 << 10,
        contents: "tests",
    };

    fn content(store: &DiskStore, key: &Key) -> Option<Vec<u8>> {
        store.read(key).map(|(_, content)| content)
    }

    #[test]
    fn a_content_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(Some(folder.path().join("a/b")), &FORMAT);
        assert_eq!(content(&store, &[1; 32]), None);
        store.write(&[1; 32], b"content");
        store.write(&[2; 32], b"");
        assert_eq!(content(&store, &[1; 32]).unwrap(), b"content");
        assert_eq!(content(&store, &[2; 32]).unwrap(), b"");
        assert_eq!(content(&store, &[3; 32]), None);
        let none = DiskStore::new(None, &FORMAT);
        assert_eq!(none.write(&[1; 32], b"content"), None);
        assert_eq!(content(&none, &[1; 32]), None);
    }

    #[test]
    fn a_damaged_truncated_or_foreign_file_is_not_read_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(Some(folder.path().to_path_buf()), &FORMAT);
        store.write(&[1; 32], b"content");
        let file = store.file(&[1; 32]).unwrap();
        let complete = fs::read(&file).unwrap();
        assert_eq!(complete.len(), Format::HEADER + 7);
        for at in 0..complete.len() {
            let mut damaged = complete.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(content(&store, &[1; 32]), None, "byte {at}");
            fs::write(&file, &complete[..at]).unwrap();
            assert_eq!(content(&store, &[1; 32]), None, "length {at}");
        }
        fs::write(store.file(&[2; 32]).unwrap(), &complete).unwrap();
        assert_eq!(content(&store, &[2; 32]), None);
        store.write(&[1; 32], b"content");
        assert_eq!(content(&store, &[1; 32]).unwrap(), b"content");
    }
}
