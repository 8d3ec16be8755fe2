//! Archives of data sets: `.zip`, `.tar.gz` and `.gz` are unpacked.
//!
//! A file appears under its name when it is complete. Archives in a `.zip` are unpacked into the folder in which they
//! would be, one level deep. Members with paths that lead out of the folder and links are errors, and so is an archive
//! that becomes more than 200 times as large: recordings are not compressed further. Folders that archivers of macOS add
//! are left out.

mod output;
mod tar;
mod zip;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use self::output::Output;
use crate::error::{Error, ErrorKind, Result};

/// What to do with a damaged archive.
const HELP: &str = "download the archive again";

/// What was unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Unpacks an archive into a folder, which is created if it does not exist. Files of the same name are replaced.
///
/// `progress` is called with the bytes of the archive that were read, and all of them.
///
/// ```
/// use flate2::{Compression, write::GzEncoder};
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let archive = folder.path().join("one.bin.gz");
/// let mut gz = GzEncoder::new(std::fs::File::create(&archive)?, Compression::fast());
/// gz.write_all(&[3, 7, 0x80, 0, 40])?;
/// gz.finish()?;
/// let unpacked = spikelet_events::unpack(&archive, folder.path(), &mut |_, _| {})?;
/// assert_eq!((unpacked.files, unpacked.bytes), (1, 5));
/// assert_eq!(std::fs::read(folder.path().join("one.bin"))?, [3, 7, 0x80, 0, 40]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Open`], [`ErrorKind::Read`]; [`ErrorKind::Damaged`] for damaged and unsafe archives and other formats;
/// [`ErrorKind::Write`]. The files before the damage are there then.
pub fn unpack(
    archive: impl AsRef<Path>,
    folder: impl AsRef<Path>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Unpacked> {
    let path = archive.as_ref();
    let in_file = |error: Error| error.in_file(path);
    let file = File::open(path).map_err(|error| in_file(ErrorKind::Open(error).into()))?;
    unpack_file(file, path, folder.as_ref(), progress).map_err(in_file)
}

fn unpack_file(
    mut file: File,
    path: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Unpacked> {
    let position = 0;
    let failed = |source| Error::from(ErrorKind::Read { position, source });
    let mut start = vec![];
    file.by_ref()
        .take(6)
        .read_to_end(&mut start)
        .map_err(failed)?;
    let len = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut output = Output::new(folder, len, progress);
    let counted = output.counted(file);
    match start[..] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => {
            zip::unpack(counted, Path::new(""), zip::Nested::Unpack, &mut output)?;
        }
        [0x1f, 0x8b, ..] => tar::unpack(counted, path, &mut output)?,
        _ => {
            let (problem, help) = match &start[..] {
                b"Rar!\x1a\x07" => (
                    "this is a RAR archive, which cannot be unpacked here",
                    "unpack it with another program, such as `unrar x`",
                ),
                b"7z\xbc\xaf\x27\x1c" => (
                    "this is a 7z archive, which cannot be unpacked here",
                    "unpack it with another program, such as `7z x`",
                ),
                _ => (
                    "the file begins as no .zip, .tar.gz or .gz file does",
                    "download it again: a page about an error may have its name",
                ),
            };
            return Err(Error::damaged("archive", 0, problem, help));
        }
    }
    Ok(output.unpacked)
}
