//! Batches of a data set of images.

use spikelet_core::{Error, Result};
use spikelet_data::{Batches, DataLoader};
use spikelet_graph::Tensor;

/// The images `[N, channels, height, width]` of a data set in its order, and their classes: the samples of
/// [`Conversion::compare`](super::Conversion::compare).
#[derive(Debug)]
pub struct ImageBatches {
    batches: Batches,
    left: usize,
}

/// The first `samples` images of a loader, prepared as it prepares them.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, synthetic};
/// use spikelet_train::conversion;
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let loader = DataLoader::new(digits, LoaderConfig { batch_size: 20, ..LoaderConfig::default() })?;
/// let (images, labels) = conversion::images(&loader, 30).last().expect("a batch")?;
/// assert_eq!((images.shape, labels.len()), (vec![10, 1, 28, 28], 10));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub fn images(loader: &DataLoader, samples: usize) -> ImageBatches {
    ImageBatches {
        batches: loader.epoch(0, 0),
        left: samples,
    }
}

impl Iterator for ImageBatches {
    type Item = Result<(Tensor, Vec<i64>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let batch = match self.batches.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error.into())),
        };
        let mut read = || -> Result<(Tensor, Vec<i64>)> {
            let found = batch.require("images").map_err(Error::from)?;
            let labels = batch.i64("labels").map_err(Error::from)?;
            let Some(values) = found.as_f32() else {
                return Err(Error::invalid(
                    "images",
                    "they are not f32",
                    "let the loader normalize them",
                ));
            };
            let kept = labels.len().min(self.left);
            self.left -= kept;
            let mut shape = found.shape.clone();
            let each = values.len() / labels.len().max(1);
            if let Some(samples) = shape.first_mut() {
                *samples = kept;
            }
            let images = Tensor::f32(shape, &values[..kept * each]);
            Ok((images, labels[..kept].to_vec()))
        };
        Some(read())
    }
}
