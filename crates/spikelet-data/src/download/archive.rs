//! Downloads an archive and unpacks some of its files.

use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use tempfile::NamedTempFile;

use crate::remote_file::RemoteFile;
use crate::temporary::temporary_in;

use super::{
    DownloadError, Failure, Progress, Transfer, check_names, from_mirrors, put, receive_from,
    write_failed,
};

/// Downloads `archive`, a `.tar.gz`, from the first of `mirrors` that has it, and unpacks the files `wanted` to
/// `folder`, which is created if it does not exist.
///
/// The length and checksum of the archive are checked before it is unpacked. Files are identified by the last
/// component of their path in the archive. All others are skipped, so only the files `wanted` are written, in
/// `folder` itself. Existing files are replaced atomically after all files have been unpacked. The archive is
/// not kept.
///
/// # Errors
/// [`DownloadError`] with the failure of each mirror if none of them has the archive.
pub fn fetch_archive(
    archive: &RemoteFile,
    wanted: &[String],
    mirrors: &[String],
    folder: &Path,
    progress: Progress,
) -> Result<(), DownloadError> {
    let names = wanted.iter().chain([&archive.name]).map(String::as_str);
    let result = check_names(names).and_then(|()| {
        from_mirrors(mirrors, &archive.name, |url| {
            let arrived = receive_from(url, archive, Transfer::AsIs, folder, progress)?;
            unpack(arrived, wanted, folder)
        })
    });
    result.map_err(|attempts| DownloadError {
        file: archive.name.clone(),
        attempts,
        wanted: vec![archive.name.clone()],
        folder: folder.to_owned(),
        archive: true,
    })
}

/// For the fuzz targets: unpacks an archive in memory without checking its checksum. Returns whether all
/// wanted files were in it.
#[doc(hidden)]
pub fn unpack_archive(archive: &[u8], wanted: &[String], folder: &Path) -> bool {
    let copied = temporary_in(folder, ".download-")
        .and_then(|mut file| file.write_all(archive).map(|()| file));
    copied.is_ok_and(|file| unpack(file, wanted, folder).is_ok())
}

fn unpack(archive: NamedTempFile, wanted: &[String], folder: &Path) -> Result<(), Failure> {
    let mut file = archive.as_file();
    file.rewind().map_err(Failure::Unpack)?;
    let reader = BufReader::with_capacity(1 << 16, file);
    let mut contents = tar::Archive::new(MultiGzDecoder::new(reader));

    let mut unpacked: Vec<Option<NamedTempFile>> = wanted.iter().map(|_| None).collect();
    for entry in contents.entries().map_err(Failure::Unpack)? {
        let mut entry = entry.map_err(Failure::Unpack)?;
        let place = wanted
            .iter()
            .position(|name| named(&entry, name))
            .filter(|_| entry.header().entry_type().is_file());
        if let Some(place) = place {
            unpacked[place] = Some(write_out(&mut entry, folder)?);
        }
    }

    let missing: Vec<String> = wanted
        .iter()
        .zip(&unpacked)
        .filter(|(_, file)| file.is_none())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !missing.is_empty() {
        return Err(Failure::NotInArchive { missing });
    }
    for (file, name) in unpacked.into_iter().flatten().zip(wanted) {
        put(file, folder, name)?;
    }
    Ok(())
}

fn named(entry: &tar::Entry<'_, impl Read>, name: &str) -> bool {
    entry
        .path()
        .is_ok_and(|path| path.file_name().is_some_and(|last| last == name))
}

fn write_out(content: &mut impl Read, folder: &Path) -> Result<NamedTempFile, Failure> {
    let mut file =
        temporary_in(folder, ".download-").map_err(|error| write_failed(folder, error))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => return Ok(file),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Unpack(error)),
        };
        file.write_all(&buffer[..count])
            .map_err(|error| write_failed(file.path(), error))?;
    }
}
