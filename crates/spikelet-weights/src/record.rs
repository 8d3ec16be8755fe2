//! Records of zip archives.

use crate::arrays::Source as _;
use crate::arrays::zip::{self, Entry};

use crate::error::{ErrorKind, Result};
use crate::source::FileSource;

/// The bytes of a record.
pub(crate) fn record(source: &FileSource, entry: &Entry) -> Result<Vec<u8>> {
    if !entry.stored {
        let len = usize::try_from(entry.uncompressed).unwrap_or(usize::MAX);
        return zip::inflate(source, entry, len);
    }
    let damaged = |problem: String| {
        Err(ErrorKind::Damaged {
            format: "zip",
            place: format!(
                "record `{}`",
                entry.name.chars().take(80).collect::<String>()
            ),
            problem,
            help: "the file was not copied to its end, or is damaged; get it again",
        }
        .into())
    };
    if entry.compressed != entry.uncompressed {
        let (stored, claimed) = (entry.compressed, entry.uncompressed);
        return damaged(format!("{stored} bytes are stored, {claimed} are claimed"));
    }
    let offset = zip::data_offset(source, entry)?;
    let bytes = source.read(
        offset,
        usize::try_from(entry.compressed).unwrap_or(usize::MAX),
    )?;
    let mut crc = flate2::Crc::new();
    crc.update(&bytes);
    if crc.sum() != entry.crc {
        return damaged("its checksum is wrong".into());
    }
    Ok(bytes)
}
