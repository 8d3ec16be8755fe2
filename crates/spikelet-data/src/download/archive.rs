//! Fetching an archive of which some files are wanted.

use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use tempfile::NamedTempFile;

use crate::source::RemoteFile;

use super::{
    DownloadError, Failure, Progress, Transfer, check_names, from_mirrors, put, receive_from,
    temporary_in, write_failed,
};

/// Fetches `archive`, a `.tar.gz`, from the first of `mirrors` that has it and puts the files
/// `wanted` from it into `folder`, which is made if it is not there.
///
/// The archive's length and checksum are compared before anything is unpacked. Files are
/// known by the last part of their names, wherever in the archive they lie; all others are passed
/// over, so that nothing is written but `wanted`, in `folder` itself. Files of those names that are
/// there already are replaced, each in one step, once all of them have been unpacked. The archive
/// is not kept.
///
/// # Errors
/// [`DownloadError`] with each mirror's failure if none of them had the archive.
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

/// For the fuzz targets: unpacks an archive that is in memory, without comparing it with a checksum;
/// whether all wanted files were in it.
#[doc(hidden)]
pub fn unpack_archive(archive: &[u8], wanted: &[String], folder: &Path) -> bool {
    let copied = temporary_in(folder).and_then(|mut file| file.write_all(archive).map(|()| file));
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
    let mut file = temporary_in(folder).map_err(|error| write_failed(folder, error))?;
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
