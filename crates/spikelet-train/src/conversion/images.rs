//! Batches of a data set of images.

use spikelet_core::{Error, Result};
use spikelet_data::{Batch, DataLoader};
use spikelet_graph::Tensor;

/// The first `samples` images of a loader, prepared as it prepares them: the samples of
/// [`Conversion::compare`](super::Conversion::compare), `[N, channels, height, width]`, and their classes.
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
pub fn images(
    loader: &DataLoader,
    samples: usize,
) -> impl Iterator<Item = Result<(Tensor, Vec<i64>)>> + use<> {
    let mut left = samples;
    let read = move |batch: spikelet_data::Result<Batch>| {
        let batch = batch?;
        let found = batch.require("images").map_err(Error::from)?;
        let labels = batch.i64("labels").map_err(Error::from)?;
        let Some(values) = found.as_f32() else {
            return Err(Error::invalid(
                "images",
                "they are not f32",
                "let the loader normalize them",
            ));
        };
        let kept = labels.len().min(left);
        left -= kept;
        let mut shape = found.shape.clone();
        let each = values.len() / labels.len().max(1);
        if let Some(samples) = shape.first_mut() {
            *samples = kept;
        }
        let images = Tensor::f32(shape, &values[..kept * each]);
        Ok((images, labels[..kept].to_vec()))
    };
    let batches = loader.epoch(0, 0).map(read);
    batches.take_while(|read| !read.as_ref().is_ok_and(|(_, labels)| labels.is_empty()))
}
