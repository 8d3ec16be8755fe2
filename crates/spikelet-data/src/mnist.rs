//! MNIST: 70,000 handwritten digits, 28 × 28 gray pixels, 10 classes.
//!
//! Source: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, *Gradient-based learning applied to
//! document recognition*, Proceedings of the IEEE 86 (1998).

use std::path::Path;

use crate::RemoteFile;
use crate::error::Result;
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::source::{Files, ImageFiles, Source};
use crate::split::Split;

pub(crate) const ENTRY: ImageFiles = ImageFiles {
    name: "mnist",
    summary: "Handwritten digits",
    source,
};

/// The source of MNIST.
///
/// The files may be in the data folder itself, in `mnist`, or in `MNIST/raw`, where torchvision
/// puts them.
#[must_use]
pub fn source() -> Source {
    let file = |name: &str, bytes, sha256: &str| RemoteFile {
        name: name.into(),
        bytes,
        sha256: sha256.into(),
    };
    Source {
        name: "MNIST".into(),
        classes: (0..10).map(|digit| digit.to_string()).collect(),
        shape: [1, 28, 28],
        folders: ["mnist", "MNIST/raw", ""].map(String::from).into(),
        files: Files::Idx([
            file(
                "train-images-idx3-ubyte",
                47_040_016,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            file(
                "train-labels-idx1-ubyte",
                60_008,
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            file(
                "t10k-images-idx3-ubyte",
                7_840_016,
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            file(
                "t10k-labels-idx1-ubyte",
                10_008,
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ]),
        mirrors: [
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ]
        .map(String::from)
        .into(),
    }
}

/// Reads MNIST from a subfolder of `dir`; see [`Source::load`].
///
/// # Errors
/// As [`Source::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    source().load(dir.as_ref())
}

/// Reads MNIST from a subfolder of `dir` and downloads missing files to `dir/mnist`; see
/// [`Source::load_or_download`].
///
/// # Errors
/// As [`Source::load_or_download`].
#[cfg(feature = "download")]
pub fn load_or_download(dir: impl AsRef<Path>, progress: Progress) -> Result<Split> {
    source().load_or_download(dir.as_ref(), progress)
}
