//! A data set in files of records: labels of one byte each and the bytes of their image.

use std::fs::File;
use std::io::Read;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use super::Source;
#[cfg(feature = "download")]
use crate::download::{DownloadError, fetch_archive};
use crate::error::{Error, Result};
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::remote_file::RemoteFile;
use crate::sets::InMemory;
use crate::split::Split;

/// Files of records without headers: the bytes of the labels, then those of the image, `[channels, height, width]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFiles {
    /// The archive (`.tar.gz`) of the files on the mirrors.
    pub archive: RemoteFile,
    /// Names of the files with training images.
    pub train: Vec<String>,
    /// Name of the file with test images.
    pub test: String,
    /// The names of files that are unpacked but not read.
    pub extra: Vec<String>,
    /// The number of images of a file with training images.
    pub records: usize,
    /// The number of images of the file with test images.
    pub test_records: usize,
    /// The number of labels of an image, at least 1, of one byte each. The last one is its class.
    pub label_bytes: usize,
}

impl RecordFiles {
    /// The files that are read: training first, test last.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.train.iter().chain(iter::once(&self.test));
        names.map(String::as_str)
    }

    #[cfg(feature = "download")]
    pub(super) fn fetch(
        &self,
        mirrors: &[String],
        folder: &Path,
        progress: Progress,
    ) -> Result<(), DownloadError> {
        let extra = self.extra.iter().map(String::as_str);
        let wanted: Vec<String> = self.names().chain(extra).map(String::from).collect();
        fetch_archive(&self.archive, &wanted, mirrors, folder, progress)
    }
}

/// Reads the files at `paths`, in the order of [`RecordFiles::names`].
pub(super) fn load(source: &Source, files: &RecordFiles, paths: &[&Path]) -> Result<Split> {
    let (train, test) = paths.split_at(files.train.len());
    let train = read(source, files, files.records, train)?;
    let test = read(source, files, files.test_records, test)?;
    Ok(Split::new(Arc::new(train), Arc::new(test)))
}

/// The concatenated records of all files.
fn read(source: &Source, files: &RecordFiles, records: usize, paths: &[&Path]) -> Result<InMemory> {
    let mut content = Vec::new();
    let image_len = source
        .shape
        .iter()
        .fold(1, |product: usize, &size| product.saturating_mul(size));
    // An image without a label has no class.
    let label_bytes = files.label_bytes.max(1);
    let record_len = image_len.saturating_add(label_bytes);
    let mut labels = Vec::new();
    let mut images = Vec::new();
    for (done, path) in paths.iter().enumerate() {
        let expected = records.saturating_mul(record_len);
        read_exactly(path, source, records, expected, &mut content)?;
        // Allocated once, after the first file has been opened.
        images.reserve_exact((paths.len() - done) * records * image_len);
        for (index, record) in content.chunks_exact(record_len).enumerate() {
            let (own_labels, image) = record.split_at(label_bytes);
            let &label = own_labels.last().expect("a record has a label");
            if usize::from(label) >= source.classes.len() {
                return Err(Error::FileLabel {
                    path: path.to_path_buf(),
                    index,
                    label,
                    classes: source.classes.len(),
                });
            }
            labels.push(u32::from(label));
            images.extend_from_slice(image);
        }
    }
    let classes = source.classes.clone();
    InMemory::images(&source.name, images, labels, source.shape, classes)
}

/// Appends the bytes of the file at `path` to `content`, if their number is `expected`.
fn read_exactly(
    path: &Path,
    source: &Source,
    records: usize,
    expected: usize,
    content: &mut Vec<u8>,
) -> Result<()> {
    let mut file = File::open(path).map_err(|error| Error::Open {
        path: path.to_owned(),
        source: error,
    })?;
    let read_failed = |error| Error::Read {
        path: path.to_owned(),
        source: error,
    };
    // Files that are much too long are not read to the end.
    let found = file.metadata().map_err(read_failed)?.len();
    content.clear();
    if found == expected as u64 {
        content.reserve_exact(expected);
        file.read_to_end(content).map_err(read_failed)?;
    }
    if found != expected as u64 || content.len() != expected {
        return Err(Error::RecordBytes {
            path: path.to_owned(),
            dataset: source.name.clone(),
            found,
            expected: expected as u64,
            records,
        });
    }
    Ok(())
}
