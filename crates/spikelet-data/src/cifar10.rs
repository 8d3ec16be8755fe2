//! CIFAR-10: 60,000 photographs of animals and vehicles, 32 × 32 pixels in color, 10 classes.
//!
//! Source: A. Krizhevsky, *Learning multiple layers of features from tiny images*, University of
//! Toronto (2009).

use std::path::Path;

use crate::RemoteFile;
use crate::error::Result;
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::source::{Files, ImageFiles, RecordFiles, Source};
use crate::split::Split;

pub(crate) const ENTRY: ImageFiles = ImageFiles {
    name: "cifar10",
    summary: "Photographs of animals and vehicles",
    source,
};

/// The source of CIFAR-10 in its binary version.
///
/// The files may be in the data folder itself or in `cifar-10-batches-bin`. They may be modified
/// copies of the same format: 10,000 images per file, each with its label and its red, green and blue planes.
#[must_use]
pub fn source() -> Source {
    Source {
        name: "CIFAR-10".into(),
        classes: [
            "airplane",
            "automobile",
            "bird",
            "cat",
            "deer",
            "dog",
            "frog",
            "horse",
            "ship",
            "truck",
        ]
        .map(String::from)
        .into(),
        shape: [3, 32, 32],
        folders: ["cifar-10-batches-bin", ""].map(String::from).into(),
        files: Files::Records(RecordFiles {
            archive: RemoteFile {
                name: "cifar-10-binary.tar.gz".into(),
                bytes: 170_052_171,
                sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd".into(),
            },
            train: (1..=5)
                .map(|batch| format!("data_batch_{batch}.bin"))
                .collect(),
            test: "test_batch.bin".into(),
            extra: vec!["batches.meta.txt".into()],
            records: 10_000,
            test_records: 10_000,
            label_bytes: 1,
        }),
        mirrors: vec!["https://www.cs.toronto.edu/~kriz/".into()],
    }
}

/// Reads CIFAR-10 from a subfolder of `dir`; see [`Source::load`].
///
/// # Errors
/// As [`Source::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    source().load(dir.as_ref())
}

/// Reads CIFAR-10 from a subfolder of `dir` and downloads it to `dir/cifar-10-batches-bin` if it is
/// missing; see [`Source::load_or_download`].
///
/// # Errors
/// As [`Source::load_or_download`].
#[cfg(feature = "download")]
pub fn load_or_download(dir: impl AsRef<Path>, progress: Progress) -> Result<Split> {
    source().load_or_download(dir.as_ref(), progress)
}
