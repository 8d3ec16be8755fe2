//! Fashion-MNIST: 70,000 pictures of clothes, 28 × 28 gray pixels, 10 classes.
//!
//! Source: H. Xiao, K. Rasul, R. Vollgraf, *Fashion-MNIST: a novel image dataset for benchmarking
//! machine learning algorithms*, arXiv:1708.07747 (2017).

use std::path::Path;

use crate::RemoteFile;
use crate::error::Result;
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::source::{Files, ImageFiles, Source};
use crate::split::Split;

pub(crate) const ENTRY: ImageFiles = ImageFiles {
    name: "fashion-mnist",
    summary: "Articles of clothing",
    source,
};

/// The source of Fashion-MNIST.
///
/// The files may be in the data folder itself, in `fashion-mnist`, or in `FashionMNIST/raw`,
/// where torchvision puts them.
#[must_use]
pub fn source() -> Source {
    let file = |name: &str, bytes, sha256: &str| RemoteFile {
        name: name.into(),
        bytes,
        sha256: sha256.into(),
    };
    Source {
        name: "Fashion-MNIST".into(),
        classes: [
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ]
        .map(String::from)
        .into(),
        shape: [1, 28, 28],
        folders: ["fashion-mnist", "FashionMNIST/raw", ""]
            .map(String::from)
            .into(),
        files: Files::Idx([
            file(
                "train-images-idx3-ubyte",
                47_040_016,
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            ),
            file(
                "train-labels-idx1-ubyte",
                60_008,
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            ),
            file(
                "t10k-images-idx3-ubyte",
                7_840_016,
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            ),
            file(
                "t10k-labels-idx1-ubyte",
                10_008,
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ]),
        mirrors: [
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        ]
        .map(String::from)
        .into(),
    }
}

/// Reads Fashion-MNIST from a subfolder of `dir`; see [`Source::load`].
///
/// # Errors
/// As [`Source::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    source().load(dir.as_ref())
}

/// Reads Fashion-MNIST from a subfolder of `dir` and downloads missing files to `dir/fashion-mnist`;
/// see [`Source::load_or_download`].
///
/// # Errors
/// As [`Source::load_or_download`].
#[cfg(feature = "download")]
pub fn load_or_download(dir: impl AsRef<Path>, progress: Progress) -> Result<Split> {
    source().load_or_download(dir.as_ref(), progress)
}
