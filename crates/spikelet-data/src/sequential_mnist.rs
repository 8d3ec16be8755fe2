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

use crate::dataset::Dataset;
use crate::error::Result;
use crate::image_dataset::{ImageDataset, Split};
use crate::mnist;
use crate::pixel_sequences::PixelSequences;
use crate::progress::Progress;
use crate::registry::{Entry, EntryData};
use crate::sequence_source::{Reader, SequenceLabels, SequenceSource, SequenceSplit, StepShape};
use crate::sets::Subset;

pub(crate) const ENTRY: Entry = Entry {
    name: "sequential-mnist",
    summary: "Handwritten digits, one pixel a time step",
    data: EntryData::Sequences(source),
};

const NAME: &str = "sequential MNIST";

/// The source of sequential MNIST.
#[must_use]
pub fn source() -> SequenceSource {
    source_of(NAME, |dir, _, _| load(dir))
}

/// The source of MNIST as sequences of this name.
pub(crate) fn source_of(
    name: &str,
    read: fn(&Path, &str, Progress) -> Result<SequenceSplit>,
) -> SequenceSource {
    let mnist = mnist::source();
    let [channels, height, width] = mnist.shape;
    SequenceSource {
        name: name.into(),
        classes: mnist.classes,
        steps: height * width,
        varies: false,
        shape: Some(StepShape::Features(channels)),
        labels: SequenceLabels::Sequence,
        splits: vec!["default".into()],
        read: Reader::new(read),
    }
}

/// Reads MNIST from a subfolder of `dir`, as [`mnist::load`] does, as sequences.
///
/// # Errors
/// As [`mnist::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<SequenceSplit> {
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
pub fn sequences(images: Split) -> Result<SequenceSplit> {
    divide(images, |images| Ok(PixelSequences::new(images, NAME)))
}

/// The three parts of images as sequences.
pub(crate) fn divide(
    images: Split,
    sequences: impl Fn(Arc<ImageDataset>) -> Result<PixelSequences>,
) -> Result<SequenceSplit> {
    let train: Arc<dyn Dataset> = Arc::new(sequences(images.train)?);
    let validation = train.len() - train.len() / 6;
    let part = |indices: std::ops::Range<usize>| -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(Subset::new(train.clone(), indices.collect())?))
    };
    Ok(SequenceSplit {
        labels: SequenceLabels::Sequence,
        device_frames: None,
        train: part(0..validation)?,
        validation: Some(part(validation..train.len())?),
        test: Arc::new(sequences(images.test)?),
    })
}
