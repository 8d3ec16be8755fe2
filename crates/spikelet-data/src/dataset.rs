//! The interface of data sets.

use std::fmt::Debug;

use spikelet_events::transforms::EventTransform;
use spikelet_schema::Member;

use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;

/// A data set: samples by index, each with the same named tensors.
///
/// The loader's threads call [`Self::sample`] concurrently. A data set in memory, or mapped into memory, lends its
/// slices, so that the elements are copied once, into the batch.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{DType, DataLoader, Dataset, Error, Field, LoaderConfig, Result, Sample, SampleTensor};
///
/// /// A sine wave for each index, and its frequency.
/// #[derive(Debug)]
/// struct Waves;
///
/// impl Dataset for Waves {
///     fn name(&self) -> &str {
///         "waves"
///     }
///     fn len(&self) -> usize {
///         1000
///     }
///     fn fields(&self) -> Vec<Field> {
///         vec![
///             Field::new("x", DType::F32, [50, 1]).sequence(),
///             Field::new("frequency", DType::F32, [1]),
///         ]
///     }
///     fn sample(&self, index: usize) -> Result<Sample<'_>> {
///         let frequency = index as f32 / 1000.0;
///         let wave: Vec<f32> = (0..50).map(|t| (frequency * t as f32).sin()).collect();
///         Ok(Sample::new()
///             .with("x", SampleTensor::f32(&[50, 1], wave))
///             .with("frequency", SampleTensor::f32(&[1], vec![frequency])))
///     }
/// }
///
/// let loader = DataLoader::new(Arc::new(Waves), LoaderConfig { batch_size: 32, ..LoaderConfig::default() })?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert_eq!(batch.require("x")?.shape, [50, 32, 1]);
/// assert_eq!(batch.f32("frequency")?.len(), 32);
/// # Ok::<(), Error>(())
/// ```
#[expect(
    clippy::len_without_is_empty,
    reason = "an empty data set is an error of the loader"
)]
pub trait Dataset: Debug + Send + Sync {
    /// The name, for messages and logs.
    fn name(&self) -> &str;

    /// The number of samples, which does not change.
    fn len(&self) -> usize;

    /// The tensors of every sample, in order.
    fn fields(&self) -> Vec<Field>;

    /// Sample `index`, below [`Self::len`].
    ///
    /// # Errors
    /// If the sample cannot be read. The loader adds the data set and the index, and ends the epoch.
    fn sample(&self, index: usize) -> Result<Sample<'_>>;

    /// Sample `index` with changes of the events of which it is computed, for data sets with [`Self::has_events`]. The
    /// loader calls it for training samples with [`Augment::events`](crate::Augment::events).
    ///
    /// # Errors
    /// As [`Self::sample`].
    fn augmented(
        &self,
        index: usize,
        augment: &[Member<dyn EventTransform>],
        random: &SampleRandom,
    ) -> Result<Sample<'_>> {
        let _ = (augment, random);
        self.sample(index)
    }

    /// Whether samples are computed from events, which [`Self::augmented`] changes.
    fn has_events(&self) -> bool {
        false
    }

    /// A digest of the identity of the data: a resumed run compares it. Data sets in memory hash their contents; those
    /// in files at least the names and lengths of their files. The default is of the name, the length, the fields, and the first and
    /// the last sample.
    ///
    /// # Errors
    /// If samples cannot be read.
    fn digest(&self) -> Result<[u8; 32]> {
        let mut digest = Parts::of("data set")
            .part(self.name().as_bytes())
            .number(self.len());
        for field in self.fields() {
            digest = digest.part(field.to_string().as_bytes());
        }
        let last = self.len().checked_sub(1);
        for index in last.map_or(vec![], |last| vec![0, last]) {
            for (name, tensor) in self.sample(index)?.iter() {
                digest = tensor.digest_into(digest.part(name.as_bytes()));
            }
        }
        Ok(digest.finish())
    }

    /// The labels of all samples: the first element of the field `labels` of each. Samples are read for them.
    ///
    /// # Errors
    /// As [`Self::sample`]; [`Error::Tensor`] if there is no such i64 field.
    fn labels(&self) -> Result<Vec<i64>> {
        first_labels(self)
    }

    /// The names of the classes of an i64 field of labels; empty if it has none.
    fn class_names(&self, _field: &str) -> &[String] {
        &[]
    }

    /// Whether samples are borrowed from memory: then the loader uses one thread by default, unless there are
    /// transforms.
    fn in_memory(&self) -> bool {
        false
    }

    /// Checks the data before the first sample is read. [`DataLoader::new`](crate::DataLoader::new) calls it.
    ///
    /// # Errors
    /// If the data set is inconsistent.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Channels, height and width of the images of a data set, the field `images`.
///
/// ```
/// let digits = spikelet_data::synthetic::digits_of(0, 10, 10);
/// assert_eq!(spikelet_data::image_shape(&*digits.test)?, [1, 28, 28]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoImages`] if there is no such field, or its images have several shapes.
pub fn image_shape(dataset: &dyn Dataset) -> Result<[usize; 3]> {
    let fields = dataset.fields();
    let images = fields
        .iter()
        .find(|field| field.name == "images" && field.image);
    match images.map(|images| &images.shape[..]) {
        Some(&[Some(channels), Some(height), Some(width)]) => Ok([channels, height, width]),
        _ => Err(Error::NoImages {
            dataset: dataset.name().into(),
            fields: fields.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// The first label of every sample.
pub(crate) fn first_labels(dataset: &(impl Dataset + ?Sized)) -> Result<Vec<i64>> {
    let label = |index| {
        let sample = dataset.sample(index)?;
        let labels = sample.require("labels")?;
        let first = labels.as_i64().and_then(|labels| labels.first());
        Ok(first.copied().unwrap_or_default())
    };
    (0..dataset.len()).map(label).collect()
}

/// The error of a sample that is not there, for implementations of [`Dataset::sample`].
pub(crate) fn check_index(dataset: &dyn Dataset, index: usize) -> Result<()> {
    if index < dataset.len() {
        return Ok(());
    }
    Err(Error::Index {
        dataset: dataset.name().into(),
        index,
        len: dataset.len(),
    })
}
