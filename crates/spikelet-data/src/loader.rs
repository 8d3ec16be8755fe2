//! Shuffled batches in a reproducible order, from which an epoch can be resumed.

mod batches;

pub use batches::Batches;

use std::sync::Arc;
use std::thread;

use spikelet_random::{Generator, Stream};

use crate::augment::{Augment, Normalize, Pipeline};
use crate::batch::Batch;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The random stream of the order of the images; its step is the epoch.
const ORDER_STREAM: u32 = 0xda7a_0001;

/// The maximal number of threads if none is given.
const MAX_THREADS: usize = 8;

/// The configuration of a [`Loader`].
///
/// | field | default | |
/// |---|---|---|
/// | `batch_size` | 128 | number of images of a batch |
/// | `shuffle` | true | a new random order in each epoch |
/// | `drop_last` | false | drop an incomplete last batch |
/// | `seed` | 0 | seed of the order and the augmentation |
/// | `augment` | none | random augmentation, for training images |
/// | `normalize` | none | mean and standard deviation with which pixels are normalized |
/// | `threads` | 0 | number of threads that prepare batches; 0 selects it automatically |
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderConfig {
    /// The number of images of a batch.
    pub batch_size: usize,
    /// Whether each epoch has a new random order, instead of that of the data set.
    pub shuffle: bool,
    /// Whether to drop a last batch with fewer than `batch_size` images.
    pub drop_last: bool,
    /// The seed of the random order and the augmentation.
    pub seed: u64,
    /// The random augmentation of the images.
    pub augment: Augment,
    /// The normalization of the pixels, after the augmentation.
    pub normalize: Option<Normalize>,
    /// The number of threads that prepare batches in advance. 0 selects one without augmentation, otherwise
    /// one per core, up to 8. The batches do not depend on it.
    pub threads: usize,
}

impl Default for LoaderConfig {
    fn default() -> Self {
        Self {
            batch_size: 128,
            shuffle: true,
            drop_last: false,
            seed: 0,
            augment: Augment::default(),
            normalize: None,
            threads: 0,
        }
    }
}

/// The shard of an epoch that one of several ranks loads. Ranks take turns batch by batch.
///
/// | field | default | |
/// |---|---|---|
/// | `rank` | 0 | loads the batches `rank`, `rank + ranks`, … |
/// | `ranks` | 1 | number of ranks |
/// | `first_image` | 0 | number of images of the epoch that are skipped |
///
/// The concurrent batches of all ranks are therefore consecutive: together they are one large batch of the
/// epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of images of the epoch that are skipped.
    pub first_image: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            rank: 0,
            ranks: 1,
            first_image: 0,
        }
    }
}

/// Splits a data set into batches, epoch by epoch.
///
/// The order of an epoch depends only on the seed and the index of the epoch, and the augmentation of an image
/// on these and its index in the data set. They do not depend on earlier epochs, the number of threads, the
/// batch size, or the first batch that is loaded.
///
/// ```
/// use spikelet_data::{Loader, LoaderConfig, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let config = LoaderConfig { batch_size: 32, seed: 1, ..LoaderConfig::default() };
/// let loader = Loader::new(digits, config)?;
/// assert_eq!(loader.len(), 4);
/// let sizes: Vec<usize> = loader.epoch(0, 0).map(|batch| batch.len()).collect();
/// assert_eq!(sizes, [32, 32, 32, 4]);
///
/// // A run that was interrupted after two batches resumes with the third.
/// let third = loader.epoch(0, 2).next();
/// assert_eq!(third, loader.epoch(0, 0).nth(2));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Loader {
    dataset: Arc<Dataset>,
    config: LoaderConfig,
}

impl Loader {
    /// A loader over `dataset`.
    ///
    /// # Errors
    /// As [`Dataset::check`], [`Augment::check`] and [`Normalize::check`]; [`Error::BatchSize`] if
    /// an epoch has no batch.
    pub fn new(dataset: Arc<Dataset>, config: LoaderConfig) -> Result<Self> {
        dataset.check()?;
        config.augment.check()?;
        if let Some(normalize) = &config.normalize {
            normalize.check(dataset.shape[0])?;
        }
        let loader = Self { dataset, config };
        if loader.config.batch_size == 0 || loader.is_empty() {
            return Err(Error::BatchSize {
                dataset: loader.dataset.name.clone(),
                batch_size: loader.config.batch_size,
                len: loader.dataset.len(),
                drop_last: loader.config.drop_last,
            });
        }
        Ok(loader)
    }

    /// The number of batches of an epoch.
    #[must_use]
    pub fn len(&self) -> usize {
        let (images, size) = (self.dataset.len(), self.config.batch_size);
        if self.config.drop_last {
            images / size
        } else {
            images.div_ceil(size)
        }
    }

    /// Whether an epoch has no batch, which [`Self::new`] does not allow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set.
    #[must_use]
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The batches of an epoch, beginning with `first_batch`; none if the epoch has no more than
    /// `first_batch` batches. The images of earlier batches are not read.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[must_use]
    pub fn epoch(&self, epoch: u64, first_batch: usize) -> Batches {
        let share = Shard {
            first_image: first_batch.saturating_mul(self.config.batch_size),
            ..Shard::default()
        };
        self.share(epoch, share)
    }

    /// The batches of the shard of an epoch. If incomplete batches are dropped, all ranks have the same
    /// number.
    ///
    /// ```
    /// use spikelet_data::{Loader, LoaderConfig, Shard, synthetic};
    ///
    /// let digits = synthetic::digits_of(1, 100, 10).train;
    /// let config = LoaderConfig { batch_size: 8, drop_last: true, ..LoaderConfig::default() };
    /// let loader = Loader::new(digits, config)?;
    /// let share = Shard { rank: 1, ranks: 3, ..Shard::default() };
    /// let mine: Vec<usize> = loader.share(0, share).map(|b| b.index_in_epoch).collect();
    /// assert_eq!(mine, [1, 4, 7, 10]);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the system cannot start a thread, or the number of ranks is 0.
    #[must_use]
    pub fn share(&self, epoch: u64, share: Shard) -> Batches {
        Batches::start(self, epoch, share, self.share_len(share), self.threads())
    }

    /// The number of batches of a shard.
    fn share_len(&self, share: Shard) -> usize {
        let size = self.config.batch_size;
        let left = self.dataset.len().saturating_sub(share.first_image);
        if self.config.drop_last {
            return left / (size * share.ranks);
        }
        let batches = left.div_ceil(size);
        batches.saturating_sub(share.rank).div_ceil(share.ranks)
    }

    /// The number of threads that prepare the batches of an epoch, unless it has fewer batches.
    fn threads(&self) -> usize {
        match self.config.threads {
            0 if self.config.augment.is_empty() => 1,
            0 => thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS)),
            threads => threads,
        }
    }

    /// The order of the images in an epoch.
    pub(crate) fn order(&self, epoch: u64) -> Vec<u32> {
        // `Dataset::check` has checked the number of images.
        let mut order: Vec<u32> = (0..self.dataset.len() as u32).collect();
        if self.config.shuffle {
            let (high, low) = ((epoch >> 32) as u32, epoch as u32);
            let stream = Stream {
                seed: self.config.seed,
                id: ORDER_STREAM.wrapping_add(high),
                step: low,
            };
            Generator::new(stream).shuffle(&mut order);
        }
        order
    }

    /// The image processing of a thread.
    pub(crate) fn pipeline(&self) -> Pipeline {
        let config = &self.config;
        Pipeline::new(
            config.augment.clone(),
            config.normalize.clone(),
            self.dataset.shape,
            config.seed,
        )
    }

    /// Writes the batch `index` of a shard of the epoch that has this order to `batch`.
    pub(crate) fn fill(
        &self,
        batch: &mut Batch,
        pipeline: &mut Pipeline,
        epoch: u64,
        order: &[u32],
        share: Shard,
        index: usize,
    ) {
        let size = self.config.batch_size;
        let index = index * share.ranks + share.rank;
        let indices = &order[share.first_image + index * size..];
        let indices = &indices[..size.min(indices.len())];
        let image_len = self.dataset.image_len();
        batch.index_in_epoch = share.first_image / size + index;
        batch.indices.clear();
        batch.indices.extend_from_slice(indices);
        let labels = &self.dataset.labels;
        let labels = indices
            .iter()
            .map(|&index| i64::from(labels[index as usize]));
        batch.labels.clear();
        batch.labels.extend(labels);
        // Every pixel is written below, so the buffer is not cleared.
        batch.images.resize(indices.len() * image_len, 0.0);
        let outs = batch.images.chunks_exact_mut(image_len);
        for (&index, out) in indices.iter().zip(outs) {
            let image = &self.dataset.images[index as usize * image_len..][..image_len];
            pipeline.write(image, epoch, index, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};

    use super::*;

    /// Ten images of two pixels, of which the last two are not there.
    fn damaged(threads: usize) -> Loader {
        let dataset = Dataset {
            name: "damaged".into(),
            images: vec![0; 16],
            labels: vec![0; 10],
            shape: [1, 1, 2],
            classes: vec!["a".into()],
            synthetic: false,
        };
        Loader {
            dataset: Arc::new(dataset),
            config: LoaderConfig {
                batch_size: 2,
                shuffle: false,
                threads,
                ..LoaderConfig::default()
            },
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_passed_on_where_its_batch_is_asked_for() {
        for threads in [1, 2, 3] {
            let mut batches = damaged(threads).epoch(0, 0);
            for index in 0..4 {
                assert_eq!(batches.next().unwrap().index_in_epoch, index);
            }
            let next = panic::catch_unwind(AssertUnwindSafe(|| batches.next()));
            next.unwrap_err();
        }
    }
}
