//! Tar archives that are compressed with gzip, and files that are.
//!
//! Headers of long names are read here, with a limit; sparse files, links and devices are errors.
//!
//! Source: POSIX.1-2024, *pax*, ustar and pax interchange formats; GNU tar, *Basic Tar Format*.

use std::io::{self, BufReader, Read};
use std::path::Path;

use ::tar::{Archive, Entry, EntryType, PaxExtensions};
use flate2::bufread::MultiGzDecoder;

use super::HELP;
use super::output::{MemberPlace, Output, member_path};
use crate::error::{Error, Result};

const NAME: &str = "tar.gz";

/// The most bytes of a header of a long name.
const MAX_HEADER: u64 = 1 << 16;

/// The bytes of a header, and the position of the name of the format in it.
const HEADER: u64 = 512;
const MAGIC: usize = 257;

/// Unpacks a `.tar.gz` or a `.gz`. The content of a `.gz` has its name without the extension.
pub(super) fn unpack(file: impl Read, path: &Path, output: &mut Output<'_>) -> Result<()> {
    let file = BufReader::with_capacity(1 << 16, file);
    let mut content = Limited {
        left: output.limit(),
        content: MultiGzDecoder::new(file),
    };
    let mut start = vec![];
    let read = content.by_ref().take(HEADER).read_to_end(&mut start);
    read.map_err(|error| unreadable(0, &error))?;
    let content = start.chain(content);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let has_magic = start
        .get(MAGIC..)
        .is_some_and(|at| at.starts_with(b"ustar"));
    if has_magic || name.ends_with(".tar") || path.extension().is_some_and(|own| own == "tgz") {
        return unpack_tar(content, output);
    }
    let place = MemberPlace {
        format: "gz",
        name: &name,
        offset: 0,
    };
    match member_path(&place)? {
        Some(path) => output.write(&path, &mut { content }, None, &place),
        None => Ok(()),
    }
}

fn unpack_tar(content: impl Read, output: &mut Output<'_>) -> Result<()> {
    let mut archive = Archive::new(content);
    let entries = archive.entries().map_err(|error| unreadable(0, &error))?;
    let (mut long_name, mut end) = (None, 0);
    // The entries as they are: the others read headers of any length.
    for entry in entries.raw(true) {
        let mut entry = entry.map_err(|error| unreadable(end, &error))?;
        let offset = entry.raw_header_position();
        end = entry.raw_file_position().saturating_add(entry.size());
        let name = String::from_utf8_lossy(&entry.header().path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let name = long_name.take().unwrap_or(name);
                let place = MemberPlace {
                    format: NAME,
                    name: &name,
                    offset,
                };
                if let Some(path) = member_path(&place)? {
                    let len = entry.size();
                    output.write(&path, &mut entry, Some(len), &place)?;
                }
            }
            EntryType::Directory => long_name = None,
            EntryType::GNULongName => {
                let header = header(&mut entry, offset)?;
                let name = header.split(|&byte| byte == 0).next().unwrap_or_default();
                long_name = Some(String::from_utf8_lossy(name).into_owned());
            }
            EntryType::XHeader => {
                if let Some(name) = pax_name(&header(&mut entry, offset)?, offset)? {
                    long_name = Some(name);
                }
            }
            EntryType::XGlobalHeader => {}
            kind => {
                let name = name.escape_debug();
                let problem =
                    format!("the member `{name}` of the type {kind:?} is no regular file");
                return Err(Error::damaged(NAME, offset, problem, HELP));
            }
        }
    }
    Ok(())
}

/// The content of a header of a long name.
fn header(entry: &mut Entry<'_, impl Read>, offset: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let read = entry.take(MAX_HEADER + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(offset, &error))?;
    match bytes.len() as u64 > MAX_HEADER {
        true => {
            let problem = format!("a header of more than {MAX_HEADER} bytes");
            Err(Error::damaged(NAME, offset, problem, HELP))
        }
        false => Ok(bytes),
    }
}

/// The path that a pax header gives the next member.
fn pax_name(header: &[u8], offset: u64) -> Result<Option<String>> {
    let mut name = None;
    for extension in PaxExtensions::new(header) {
        let extension = extension.map_err(|error| unreadable(offset, &error))?;
        match extension.key_bytes() {
            b"path" => name = Some(String::from_utf8_lossy(extension.value_bytes()).into_owned()),
            b"size" => {
                let problem = "a member of more than 8 GiB";
                return Err(Error::damaged(NAME, offset, problem, HELP));
            }
            _ => {}
        }
    }
    Ok(name)
}

fn unreadable(offset: u64, error: &io::Error) -> Error {
    Error::damaged(NAME, offset, format!("it cannot be read on: {error}"), HELP)
}

/// A reader that fails after a number of bytes.
struct Limited<R> {
    left: u64,
    content: R,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(bytes)?;
        let left = self.left.checked_sub(read as u64);
        let error = || io::Error::other("it is 200 times as large as the archive");
        self.left = left.ok_or_else(error)?;
        Ok(read)
    }
}
