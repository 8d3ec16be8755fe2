//! Zip archives.

use std::path::Path;

use super::HELP;
use super::output::{MemberPlace, Output, member_path};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::Container;
use crate::formats::member::Member;
use crate::formats::shared_file::SharedFile;
use spikelet_weights::arrays::{Source as _, zip};

const NAME: &str = "zip";

/// What happens to archives in an archive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nested {
    Unpack,
    Keep,
}

/// Unpacks the members into a folder below that of the output.
pub(super) fn unpack(
    file: impl Container + 'static,
    folder: &Path,
    nested: Nested,
    output: &mut Output<'_>,
) -> Result<()> {
    let file = SharedFile::new(NAME, Box::new(file))?;
    let entries = zip::entries(&file)?;
    // Members that share bytes would make more of them than the limit for each allows.
    let members = entries.iter().map(|entry| entry.compressed);
    let compressed = members.fold(0, u64::saturating_add);
    if compressed > file.len() {
        let len = file.len();
        let problem = format!("the members have {compressed} bytes, more than the file: {len}");
        return Err(Error::damaged(NAME, 0, problem, HELP));
    }
    for entry in &entries {
        let place = MemberPlace {
            format: NAME,
            name: &entry.name,
            offset: entry.header,
        };
        let Some(path) = member_path(&place)? else {
            continue;
        };
        let path = folder.join(path);
        let (mut member, len) = (Member::open(&file, entry)?, entry.uncompressed);
        let is_archive = path.extension().is_some_and(|own| own == "zip");
        if !is_archive || nested == Nested::Keep {
            output.write(&path, &mut member, Some(len), &place)?;
            continue;
        }
        let inner = output.temporary(&mut member, len, &place)?;
        let folder = path.parent().unwrap_or(folder);
        unpack(inner, folder, Nested::Keep, output).map_err(|error| match &*error.kind {
            ErrorKind::Damaged { problem, .. } => {
                place.error(&format!("is an archive that is damaged: {problem}"))
            }
            _ => error,
        })?;
    }
    Ok(())
}
