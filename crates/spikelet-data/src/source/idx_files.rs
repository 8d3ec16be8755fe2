//! A data set in four IDX files: training images and labels, test images and labels.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "download")]
use super::Found;
use super::{Files, Source};
use crate::dataset::Dataset;
#[cfg(feature = "download")]
use crate::download::{self, DownloadError};
use crate::error::{Error, Result};
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::remote_file::{RemoteFile, sha256};
use crate::sets::InMemory;
use crate::split::Split;
use crate::{fashion_mnist, idx, mnist};

/// Reads the four files at `paths` in `folder`. If they are those of another data set, the error names `target` as the
/// folder for the files of this one.
pub(super) fn load(
    source: &Source,
    files: &[RemoteFile; 4],
    paths: &[&Path],
    folder: &Path,
    target: &Path,
) -> Result<Split> {
    let test = read(source, &files[2..], &paths[2..])?;
    if let Some(other) = other_with_labels(source, &test.labels()?) {
        return Err(Error::OtherDataset {
            folder: folder.to_owned(),
            found: other.name,
            expected: source.name.clone(),
            target: target.to_owned(),
        });
    }
    let train = read(source, &files[..2], &paths[..2])?;
    Ok(Split::new(Arc::new(train), Arc::new(test)))
}

/// Whether the four files are known to be those of another data set, by their test labels.
pub(super) fn is_of_another(source: &Source, paths: &[&Path]) -> bool {
    let labels = idx::read_labels(paths[3], source.classes.len()).unwrap_or_default();
    let labels: Vec<i64> = labels.into_iter().map(i64::from).collect();
    other_with_labels(source, &labels).is_some()
}

/// Downloads the files that are missing in `target`.
#[cfg(feature = "download")]
pub(super) fn fetch(
    files: &[RemoteFile; 4],
    target: &Found,
    mirrors: &[String],
    progress: Progress,
) -> Result<(), DownloadError> {
    let missing: Vec<_> = files
        .iter()
        .zip(&target.files)
        .filter(|(_, path)| path.is_none())
        .map(|(file, _)| file)
        .collect();
    for (done, file) in missing.iter().enumerate() {
        download::fetch(file, mirrors, &target.folder, progress).map_err(|mut error| {
            error.wanted = missing[done..]
                .iter()
                .map(|file| file.name.clone())
                .collect();
            error
        })?;
    }
    Ok(())
}

/// The known data set other than `source` with these test labels. Several data sets have the file names of MNIST, so
/// that folders are easily confused.
fn other_with_labels(source: &Source, test_labels: &[i64]) -> Option<Source> {
    let count = u32::try_from(test_labels.len()).ok()?;
    let mut file = vec![0, 0, 8, 1];
    file.extend(count.to_be_bytes());
    // They were read from bytes.
    file.extend(test_labels.iter().map(|&label| label as u8));
    let digest = sha256(&file);
    let known = [mnist::source(), fashion_mnist::source()];
    known.into_iter().find(|other| {
        let labels = match &other.files {
            Files::Idx([.., labels]) => labels,
            Files::Records(_) => return false,
        };
        other.name != source.name && labels.sha256 == digest
    })
}

/// Reads a file of images and its file of labels. The headers are compared with the data set and with each other
/// before the contents are read, so that memory is limited by the sizes of the data set.
fn read(source: &Source, files: &[RemoteFile], paths: &[&Path]) -> Result<InMemory> {
    let (images_path, labels_path) = (paths[0], paths[1]);
    let most = |file: &RemoteFile, count: usize, bytes: u64, path: &Path| match file.bytes {
        // A copy may be shorter than the original; a longer file is that of another data set.
        most if bytes > most => Err(Error::TooMany {
            path: path.to_owned(),
            dataset: source.name.clone(),
            found: count,
            most_bytes: most,
        }),
        _ => Ok(()),
    };
    let labels = idx::read_if(labels_path, |[count]| {
        most(&files[1], count, count as u64, labels_path)
    })?;
    let labels = idx::check_labels(labels_path, labels.data, source.classes.len())?;
    let images = idx::read_if(images_path, |[count, height, width]| {
        if [1, height, width] != source.shape {
            return Err(Error::ImageSize {
                path: images_path.to_owned(),
                dataset: source.name.clone(),
                found: [height, width],
                expected: [source.shape[1], source.shape[2]],
            });
        }
        if count != labels.len() {
            return Err(Error::CountMismatch {
                images_path: images_path.to_owned(),
                images: count,
                labels_path: labels_path.to_owned(),
                labels: labels.len(),
            });
        }
        let bytes = (count as u64).saturating_mul((height * width) as u64);
        most(&files[0], count, bytes, images_path)
    })?;
    let classes = source.classes.clone();
    let labels = labels.into_iter().map(u32::from).collect();
    InMemory::images(&source.name, images.data, labels, source.shape, classes)
}

/// The accepted names of a file, the preferred one first: compressed files are slower to read.
pub(super) fn spellings(name: &str) -> [String; 4] {
    let dotted = name.replacen("-idx", ".idx", 1);
    [
        name.to_owned(),
        dotted.clone(),
        format!("{name}.gz"),
        format!("{dotted}.gz"),
    ]
}
