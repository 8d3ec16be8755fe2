//! Shuffled batches in a reproducible order, from which an epoch can be resumed.

mod batches;
mod config;
mod order;
mod window;

pub use batches::Batches;
pub use config::{LoaderConfig, Shard, WeightedSampling};

use std::sync::Arc;
use std::thread;

use crate::augment::FIRST_OF_SEQUENCES;
use crate::batch::Batch;
use crate::collate::{Collator, check_fields};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::sample_random::SampleRandom;
use crate::sets::Subset;
use crate::transform::{BatchTransform, Transform};

/// The maximal number of threads if none is given.
const MAX_THREADS: usize = 16;

/// Splits a data set into batches, epoch by epoch.
///
/// The order of an epoch depends only on the seed and the index of the epoch, and the augmentation of a sample on these
/// and its index in the data set. They do not depend on earlier epochs, the number of threads, the batch size, or the
/// first batch that is loaded.
///
/// At most four batches are in memory with one thread, and two for each of several threads, and fewer if they are
/// larger than [`LoaderConfig::prefetch_bytes`] together; besides those that the caller holds.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, Result, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let config = LoaderConfig { batch_size: 32, seed: 1, ..LoaderConfig::default() };
/// let loader = DataLoader::new(digits, config)?;
/// assert_eq!(loader.len(), 4);
/// let batches: Vec<_> = loader.epoch(0, 0).collect::<Result<_>>()?;
/// let sizes: Vec<usize> = batches.iter().map(|batch| batch.len()).collect();
/// assert_eq!(sizes, [32, 32, 32, 4]);
///
/// // A run that was interrupted after two batches resumes with the third.
/// let third = loader.epoch(0, 2).next().expect("two batches are left")?;
/// assert_eq!(third, batches[2]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataLoader {
    dataset: Arc<dyn Dataset>,
    config: LoaderConfig,
    transforms: Vec<Arc<dyn Transform>>,
    batch_transforms: Vec<Arc<dyn BatchTransform>>,
    /// The fields of a sample after the transforms.
    fields: Arc<[Field]>,
    /// The fields of a batch, of one sample each.
    batch_fields: Vec<Field>,
}

impl DataLoader {
    /// A loader over `dataset`, with a configuration or only the number of samples of a batch.
    ///
    /// # Errors
    /// As [`Dataset::check`], [`Augment::check`](crate::Augment::check) and
    /// [`Normalize::check`](crate::Normalize::check); [`Error::BatchSize`] if an epoch has no batch; [`Error::Field`] if
    /// a field cannot be collated; [`Error::NoImage`] if there is no image to augment or normalize;
    /// [`Error::Weights`].
    pub fn new(dataset: Arc<dyn Dataset>, config: impl Into<LoaderConfig>) -> Result<Self> {
        let config = config.into();
        dataset.check()?;
        config.augment.check()?;
        let fields = dataset.fields();
        if let Some(weighted) = &config.weighted {
            weighted.check(&*dataset)?;
        }
        let loader = Self {
            dataset,
            config,
            transforms: Vec::new(),
            batch_transforms: Vec::new(),
            fields: fields.as_slice().into(),
            batch_fields: fields,
        };
        loader.check_fields()?;
        loader.check_batch_size()?;
        Ok(loader)
    }

    /// Checks that an epoch has a batch.
    fn check_batch_size(&self) -> Result<()> {
        let len = self.dataset.len();
        if self.config.batch_size > 0 && !self.is_empty() && u32::try_from(len).is_ok() {
            return Ok(());
        }
        Err(Error::BatchSize {
            dataset: self.dataset.name().into(),
            batch_size: self.config.batch_size,
            len,
            drop_last: self.config.drop_last,
        })
    }

    /// Adds a transform of samples, after those that were added before.
    ///
    /// # Errors
    /// If it cannot be applied to the fields, or [`Error::Field`] if its fields cannot be collated.
    pub fn transform(self, transform: impl Transform + 'static) -> Result<Self> {
        self.shared_transform(Arc::new(transform))
    }

    /// As [`Self::transform`], of a transform that others have as well.
    pub(crate) fn shared_transform(mut self, transform: Arc<dyn Transform>) -> Result<Self> {
        self.fields = transform.fields(self.fields.to_vec())?.into();
        self.batch_fields = self.fields.to_vec();
        self.transforms.push(transform);
        for transform in &self.batch_transforms {
            self.batch_fields = transform.fields(self.batch_fields)?;
        }
        self.check_fields()?;
        Ok(self)
    }

    /// Adds a transform of batches, after those that were added before.
    ///
    /// # Errors
    /// If it cannot be applied to the fields.
    pub fn batch_transform(mut self, transform: impl BatchTransform + 'static) -> Result<Self> {
        self.batch_fields = transform.fields(self.batch_fields)?;
        self.batch_transforms.push(Arc::new(transform));
        Ok(self)
    }

    /// A loader of all samples in the order of the data set, with the same transforms, as for an evaluation.
    ///
    /// ```
    /// use spikelet_data::{DataLoader, LoaderConfig, synthetic};
    ///
    /// let digits = synthetic::digits_of(1, 100, 10).train;
    /// let shuffled = DataLoader::new(digits, LoaderConfig { batch_size: 32, ..LoaderConfig::default() })?;
    /// let batch = shuffled.in_order(50)?.epoch(0, 0).next().expect("an epoch has a batch")?;
    /// assert_eq!(batch.indices[..3], [0, 1, 2]);
    /// assert_eq!(batch.len(), 50);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BatchSize`] if the data set or the batch size is 0.
    pub fn in_order(&self, batch_size: usize) -> Result<Self> {
        let config = LoaderConfig {
            batch_size,
            shuffle: false,
            drop_last: false,
            weighted: None,
            ..self.config.clone()
        };
        let mut loader = self.clone();
        loader.config = config;
        loader.check_batch_size()?;
        Ok(loader)
    }

    /// The same loader over the first `samples` of the data set, in which their indices are the same.
    ///
    /// ```
    /// use spikelet_data::{DataLoader, LoaderConfig, synthetic};
    /// let digits = synthetic::digits_of(1, 100, 10).train;
    /// let loader = DataLoader::new(digits, LoaderConfig { batch_size: 32, ..LoaderConfig::default() })?;
    /// assert_eq!(loader.first(40)?.len(), 2);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] if the data set has fewer; [`Error::BatchSize`] if no batch is left.
    pub fn first(&self, samples: usize) -> Result<Self> {
        let mut loader = self.clone();
        loader.dataset = Arc::new(Subset::new(self.dataset.clone(), (0..samples).collect())?);
        loader.check_batch_size()?;
        Ok(loader)
    }

    /// The same loader without incomplete batches.
    ///
    /// # Errors
    /// [`Error::BatchSize`] if no batch is complete.
    pub fn dropping_last(mut self) -> Result<Self> {
        self.config.drop_last = true;
        self.check_batch_size()?;
        Ok(self)
    }

    /// The same loader with another number of threads; see [`LoaderConfig::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.config.threads = threads;
        self
    }

    /// The transforms of samples, then those of batches, as text: they identify the loader's batches.
    #[must_use]
    pub fn transforms(&self) -> Vec<String> {
        let samples = self
            .transforms
            .iter()
            .map(|transform| format!("{transform:?}"));
        let batches = self.batch_transforms.iter();
        samples
            .chain(batches.map(|transform| format!("{transform:?}")))
            .collect()
    }

    /// Checks that the samples can be collated, and that there is an image if images are changed.
    fn check_fields(&self) -> Result<()> {
        let dataset = self.dataset.name();
        check_fields(dataset, &self.fields)?;
        let config = &self.config;
        let images = || self.fields.iter().filter(|field| field.image);
        if let Some(normalize) = &config.normalize {
            // The channels are the third last axis; an unknown number is checked with the first image.
            let mut channels = images().filter_map(|field| *field.shape.iter().rev().nth(2)?);
            channels.try_for_each(|channels| normalize.check(channels))?;
        }
        let sequences = &config.augment.sequences;
        sequences
            .iter()
            .try_for_each(|transform| transform.accepts(&self.fields))?;
        if !config.augment.events.is_empty() && !self.dataset.has_events() {
            return Err(Error::NoEvents {
                dataset: dataset.into(),
            });
        }
        let changes = config.augment.changes_images() || config.normalize.is_some();
        if changes && images().next().is_none() && self.transforms.is_empty() {
            return Err(Error::NoImage {
                dataset: dataset.into(),
                fields: self.fields.iter().map(Field::to_string).collect(),
            });
        }
        Ok(())
    }

    /// The number of batches of an epoch.
    #[must_use]
    pub fn len(&self) -> usize {
        let (samples, size) = (self.samples(), self.config.batch_size);
        if size == 0 {
            0
        } else if self.config.drop_last {
            samples / size
        } else {
            samples.div_ceil(size)
        }
    }

    /// Whether an epoch has no batch, which [`Self::new`] does not allow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of samples of an epoch, before incomplete batches are dropped.
    #[must_use]
    pub fn samples(&self) -> usize {
        match &self.config.weighted {
            Some(weighted) => weighted.samples,
            None => self.dataset.len(),
        }
    }

    /// The data set.
    #[must_use]
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.dataset
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The fields of a batch after all transforms, each described by one sample. Images are f32 in the batch.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.batch_fields
    }

    /// The batches of an epoch, beginning with `first_batch`; none if the epoch has no more than
    /// `first_batch` batches. The samples of earlier batches are not read.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[must_use]
    pub fn epoch(&self, epoch: u64, first_batch: usize) -> Batches {
        let shard = Shard {
            first_sample: first_batch.saturating_mul(self.config.batch_size),
            ..Shard::default()
        };
        self.shard(epoch, shard)
    }

    /// The batches of the shard of an epoch. If incomplete batches are dropped, all ranks have the same
    /// number.
    ///
    /// ```
    /// use spikelet_data::{DataLoader, LoaderConfig, Result, Shard, synthetic};
    ///
    /// let digits = synthetic::digits_of(1, 100, 10).train;
    /// let config = LoaderConfig { batch_size: 8, drop_last: true, ..LoaderConfig::default() };
    /// let loader = DataLoader::new(digits, config)?;
    /// let shard = Shard { rank: 1, ranks: 3, ..Shard::default() };
    /// let mine = loader.shard(0, shard).map(|batch| Ok(batch?.index_in_epoch));
    /// assert_eq!(mine.collect::<Result<Vec<usize>>>()?, [1, 4, 7, 10]);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the system cannot start a thread, or the number of ranks is 0.
    #[must_use]
    pub fn shard(&self, epoch: u64, shard: Shard) -> Batches {
        Batches::start(self, epoch, shard, self.shard_len(shard), self.threads())
    }

    /// The number of batches of a shard.
    fn shard_len(&self, shard: Shard) -> usize {
        let size = self.config.batch_size;
        let left = self.samples().saturating_sub(shard.first_sample);
        if self.config.drop_last {
            return left / (size * shard.ranks);
        }
        let batches = left.div_ceil(size);
        batches.saturating_sub(shard.rank).div_ceil(shard.ranks)
    }

    /// The number of threads that prepare the batches of an epoch, unless it has fewer batches.
    fn threads(&self) -> usize {
        let unchanged = self.config.augment.is_empty()
            && self.transforms.is_empty()
            && self.batch_transforms.is_empty();
        match self.config.threads {
            0 if unchanged && self.dataset.in_memory() => 1,
            0 => thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS)),
            threads => threads,
        }
    }

    /// The bytes of a batch, as far as they are known from the fields.
    pub(crate) fn batch_bytes(&self) -> usize {
        let samples = self.config.batch_size.min(self.samples());
        let bytes = self.batch_fields.iter().map(Field::bytes_in_batch);
        bytes.fold(0, usize::saturating_add).saturating_mul(samples)
    }

    /// The samples of an epoch, in order.
    pub(crate) fn order(&self, epoch: u64) -> Vec<u32> {
        let config = &self.config;
        match &config.weighted {
            Some(weighted) => order::weighted(config.seed, epoch, weighted),
            // `Self::new` has checked the number of samples.
            None => order::once_each(
                config.seed,
                epoch,
                self.dataset.len() as u32,
                config.shuffle,
            ),
        }
    }

    /// The collation of a thread.
    pub(crate) fn collator(&self) -> Collator {
        let config = &self.config;
        Collator::new(
            self.fields.clone(),
            config.augment.clone(),
            config.normalize.clone(),
            config.seed,
        )
    }

    /// Writes the batch `index` of a shard of the epoch that has this order to `batch`.
    pub(crate) fn fill(
        &self,
        batch: &mut Batch,
        collator: &mut Collator,
        epoch: u64,
        order: &[u32],
        shard: Shard,
        index: usize,
    ) -> Result<()> {
        let (size, seed) = (self.config.batch_size, self.config.seed);
        let index = index * shard.ranks + shard.rank;
        let first = shard.first_sample + index * size;
        let indices = &order[first..];
        let indices = &indices[..size.min(indices.len())];
        batch.index_in_epoch = shard.first_sample / size + index;
        batch.indices.clear();
        batch.indices.extend_from_slice(indices);
        let mut stack = collator.stack(batch, epoch, indices.len());
        for (k, &sample) in indices.iter().enumerate() {
            // A sample that is drawn several times in an epoch is augmented differently each time.
            let draws = match self.config.weighted {
                Some(_) => (first + k) as u32,
                None => sample,
            };
            let index = sample as usize;
            let mut add = || {
                let random = SampleRandom::of_sample(seed, epoch, draws);
                let events = &self.config.augment.events;
                let mut sample = match events.is_empty() {
                    true => self.dataset.sample(index)?,
                    false => self.dataset.augmented(index, events, &random)?,
                };
                for (position, transform) in self.transforms.iter().enumerate() {
                    transform.apply(&mut sample, &mut random.of_transform(position))?;
                }
                for (position, transform) in self.config.augment.sequences.iter().enumerate() {
                    let position = FIRST_OF_SEQUENCES + position;
                    transform.apply(&mut sample, &mut random.of_transform(position))?;
                }
                stack.add(k, sample, draws)
            };
            add().map_err(|source| Error::Sample {
                dataset: self.dataset.name().into(),
                index,
                source: Box::new(source),
            })?;
        }
        let index = batch.index_in_epoch;
        let in_batch = |source| Error::Batch {
            dataset: self.dataset.name().into(),
            index,
            source: Box::new(source),
        };
        stack.finish(batch).map_err(in_batch)?;
        let random = SampleRandom::of_batch(seed, epoch, first as u32);
        for (position, transform) in self.batch_transforms.iter().enumerate() {
            let mut random = random.of_transform(position);
            transform.apply(batch, &mut random).map_err(in_batch)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};

    use super::*;
    use crate::{DType, Sample, SampleTensor};

    /// Ten samples, of which the last two panic.
    #[derive(Debug)]
    struct Damaged;

    impl Dataset for Damaged {
        fn name(&self) -> &str {
            "damaged"
        }

        fn len(&self) -> usize {
            10
        }

        fn fields(&self) -> Vec<Field> {
            vec![Field::new("x", DType::F32, [])]
        }

        fn sample(&self, index: usize) -> Result<Sample<'_>> {
            assert!(index < 8);
            Ok(Sample::new().with("x", SampleTensor::f32(&[], vec![0.0])))
        }

        fn digest(&self) -> Result<[u8; 32]> {
            Ok([0; 32])
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_passed_on_where_its_batch_is_asked_for() {
        for threads in [1, 2, 3] {
            let config = LoaderConfig {
                batch_size: 2,
                shuffle: false,
                threads,
                ..LoaderConfig::default()
            };
            let loader = DataLoader::new(Arc::new(Damaged), config).unwrap();
            let mut batches = loader.epoch(0, 0);
            for index in 0..4 {
                assert_eq!(batches.next().unwrap().unwrap().index_in_epoch, index);
            }
            let next = panic::catch_unwind(AssertUnwindSafe(|| batches.next()));
            next.unwrap_err();
        }
    }
}
