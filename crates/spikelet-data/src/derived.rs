//! Files that are computed from others, such as encoded recordings: read only if they belong to their source.
//!
//! ```text
//! MAGIC | digest of source and settings, 32 bytes | SHA-256 of the content, 32 bytes | the content, as zlib
//! ```
//!
//! A file is written to a temporary file in the same folder, which is renamed when it is complete: under its final name
//! it is always complete, even if another process writes it at the same time.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

use crate::temporary::temporary_in;

const MAGIC: &[u8; 16] = b"spikelet derived";
const HEADER: usize = MAGIC.len() + 32 + 32;

/// The content of `len` bytes of a file that was derived from `source`; `None` if there is no such file, if it was
/// derived from something else, or if it is damaged.
pub(crate) fn read(path: &Path, source: &[u8; 32], len: usize) -> Option<Vec<u8>> {
    let file = fs::read(path).ok()?;
    let (header, packed) = file.split_at_checked(HEADER)?;
    let (magic, digests) = header.split_at(MAGIC.len());
    let (own, sum) = digests.split_at(32);
    if magic != MAGIC || own != source {
        return None;
    }
    let mut content = Vec::with_capacity(len);
    let mut reader = ZlibDecoder::new(packed).take(len as u64 + 1);
    reader.read_to_end(&mut content).ok()?;
    (content.len() == len && Sha256::digest(&content)[..] == *sum).then_some(content)
}

/// Writes the content that was derived from `source`.
pub(crate) fn write(path: &Path, source: &[u8; 32], content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary_in(folder, ".derived-")?;
    file.write_all(MAGIC)?;
    file.write_all(source)?;
    file.write_all(&Sha256::digest(content))?;
    let mut packed = ZlibEncoder::new(file, Compression::default());
    packed.write_all(content)?;
    let file = packed.finish()?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_only_with_its_source_and_undamaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("derived");
        let content: Vec<u8> = (0..5000_u32).map(|k| (k % 7) as u8).collect();
        assert_eq!(read(&path, &[1; 32], 5000), None);
        write(&path, &[1; 32], &content).expect("it is written");
        assert_eq!(read(&path, &[1; 32], 5000).as_ref(), Some(&content));
        assert_eq!(read(&path, &[2; 32], 5000), None);
        assert_eq!(read(&path, &[1; 32], 4999), None);
        let mut bytes = fs::read(&path).expect("it is there");
        for at in [0, 20, 50, HEADER + 3, bytes.len() - 1] {
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("it is written");
            assert_eq!(read(&path, &[1; 32], 5000), None, "byte {at}");
            bytes[at] ^= 1;
        }
        fs::write(&path, &bytes[..HEADER - 1]).expect("it is written");
        assert_eq!(read(&path, &[1; 32], 5000), None);
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 1, "no temporary file is left");
    }
}
