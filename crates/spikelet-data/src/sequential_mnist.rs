//! Sequential MNIST: the images of MNIST as sequences of 784 pixels.
//!
//! A step has one pixel in 0 … 1; pixels are read row by row. The files are those of [`crate::mnist`].
//!
//! | part | images of MNIST |
//! |---|---|
//! | training | the first 5/6 of the training images: 50,000 |
//! | validation | the other training images: 10,000 |
//! | test | the test images: 10,000 |
//!
//! Source: Q. V. Le, N. Jaitly, G. E. Hinton, *A simple way to initialize recurrent networks of rectified linear
//! units*, arXiv:1504.00941 (2015). The sizes of the parts are those of DelRec, whose validation images are random.

use std::path::Path;
use std::sync::Arc;

use spikelet_expr::DType;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::mnist;
use crate::named::Origin;
use crate::pixel_sequences::PixelSequences;
use crate::sequence_files::{SequenceFiles, one_split};
use crate::sets::Subset;
use crate::split::Split;

const NAME: &str = "sequential MNIST";

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "sequential-mnist",
    summary: "Handwritten digits, one pixel a time step",
    title: NAME,
    sample_files: None,
    read: |options| load(&options.folder),
    ..OF_MNIST
};

/// What data sets of the pixels of MNIST have in common.
pub(crate) const OF_MNIST: SequenceFiles = SequenceFiles {
    name: "",
    summary: "",
    title: "",
    origin: Origin::Files,
    dtype: DType::F32,
    shape: [28 * 28, 1],
    unlabeled: None,
    classes: || mnist::source().classes,
    splits: one_split,
    writes_into: |_| false,
    sample_files: None,
    read: |options| mnist::load(&options.folder),
};

/// Reads MNIST from a subfolder of `dir`, as [`mnist::load`] does, as sequences.
///
/// # Errors
/// As [`mnist::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    sequences(mnist::load(dir)?)
}

/// Images as sequences of pixels, divided into the three parts.
///
/// ```
/// use spikelet_data::{Dataset, sequential_mnist, synthetic};
///
/// let split = sequential_mnist::sequences(synthetic::digits_of(0, 60, 10))?;
/// assert_eq!((split.train.len(), split.test.len()), (50, 10));
/// assert_eq!(split.validation.map(|part| part.len()), Some(10));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// As [`Subset::new`], which has only valid indices here.
pub fn sequences(images: Split) -> Result<Split> {
    divide(images, |images| PixelSequences::new(images, NAME))
}

/// The three parts of images as sequences.
pub(crate) fn divide(
    images: Split,
    sequences: impl Fn(Arc<dyn Dataset>) -> Result<PixelSequences>,
) -> Result<Split> {
    let train: Arc<dyn Dataset> = Arc::new(sequences(images.train)?);
    let validation = train.len() - train.len() / 6;
    let part = |indices: std::ops::Range<usize>| -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(Subset::new(train.clone(), indices.collect())?))
    };
    let test = Arc::new(sequences(images.test)?);
    let parts = Split::new(part(0..validation)?, test);
    Ok(parts.with_validation(Some(part(validation..train.len())?)))
}
