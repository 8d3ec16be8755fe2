//! Batches in a shuffled order that can be repeated and resumed.

use std::sync::Arc;
use std::thread;

use spikelet_random::{Generator, Stream};

use crate::augment::{Augment, Normalize, Pipeline};
use crate::batch::Batch;
use crate::batches::Batches;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The stream of random numbers for the order of the images; its step is the epoch.
const ORDER_STREAM: u32 = 0xda7a_0001;

/// Threads that are started at most where their number is not given.
const MAX_THREADS: usize = 8;

/// How to cut a data set into batches, and what to do to its images on the way.
///
/// | field | default | |
/// |---|---|---|
/// | `batch_size` | 128 | images in a batch |
/// | `shuffle` | true | each epoch has its own random order |
/// | `drop_last` | false | leave out a last batch that is not full |
/// | `seed` | 0 | of the order and of what is changed |
/// | `augment` | nothing | what to change by chance: for images to learn from |
/// | `normalize` | none | mean and deviation to bring the pixels to 0 and 1 |
/// | `threads` | 0 | that prepare batches; 0 chooses |
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderConfig {
    /// Images in a batch.
    pub batch_size: usize,
    /// Whether each epoch has its own random order, instead of the data set's.
    pub shuffle: bool,
    /// Whether to leave out a last batch with fewer than `batch_size` images.
    pub drop_last: bool,
    /// Seed of the random order and of the changes.
    pub seed: u64,
    /// By how much images are changed by chance.
    pub augment: Augment,
    /// What to subtract from the pixels and to divide them by, after the changes.
    pub normalize: Option<Normalize>,
    /// Threads that prepare batches ahead. 0 takes one where images are not changed, else one for
    /// each core, up to 8. The batches are the same for any number.
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

/// Which batches of an epoch are made: those of one of several ranks, which take turns batch by
/// batch.
///
/// | field | default | |
/// |---|---|---|
/// | `rank` | 0 | makes the batches `rank`, `rank + ranks`, … |
/// | `ranks` | 1 | that share the epoch |
/// | `first_image` | 0 | images of the epoch that are done: batches are cut from what is behind them |
///
/// So the batches that ranks make at a time are neighbors: one large batch of the epoch, each rank
/// with its piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which of the ranks, from 0.
    pub rank: usize,
    /// How many share the epoch.
    pub ranks: usize,
    /// How many images of the epoch are done.
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

/// Cuts a data set into batches, epoch by epoch.
///
/// The order of an epoch depends on the seed and the epoch's number alone, and what is changed in
/// an image on these and the image's number in the data set: not on earlier epochs, on the number
/// of threads, on the batch size, or on where the epoch was begun.
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
/// // A run that was stopped after two batches goes on with the third.
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
    /// an epoch would have no batch.
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

    /// Number of batches in an epoch.
    #[must_use]
    pub fn len(&self) -> usize {
        let (images, size) = (self.dataset.len(), self.config.batch_size);
        if self.config.drop_last {
            images / size
        } else {
            images.div_ceil(size)
        }
    }

    /// Whether an epoch has no batch, which [`Self::new`] refuses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set.
    #[must_use]
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// How it is cut.
    #[must_use]
    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The batches of epoch `epoch` from `first_batch` on; none if the epoch has no more than
    /// `first_batch` batches. The images of the batches before are not touched.
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

    /// The batches that one of several ranks makes of epoch `epoch`. Where incomplete batches are
    /// left out, all ranks make equally many.
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
    /// If the system cannot start a thread; if there are no ranks.
    #[must_use]
    pub fn share(&self, epoch: u64, share: Shard) -> Batches {
        Batches::start(self, epoch, share, self.share_len(share), self.threads())
    }

    /// How many batches a rank's share has.
    fn share_len(&self, share: Shard) -> usize {
        let size = self.config.batch_size;
        let left = self.dataset.len().saturating_sub(share.first_image);
        if self.config.drop_last {
            return left / (size * share.ranks);
        }
        let batches = left.div_ceil(size);
        batches.saturating_sub(share.rank).div_ceil(share.ranks)
    }

    /// How many threads prepare the batches of an epoch, unless it has fewer batches.
    fn threads(&self) -> usize {
        match self.config.threads {
            0 if self.config.augment.is_empty() => 1,
            0 => thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS)),
            threads => threads,
        }
    }

    /// Which image comes when in epoch `epoch`.
    pub(crate) fn order(&self, epoch: u64) -> Vec<u32> {
        // `Dataset::check` has seen to it that the number of images fits.
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

    /// What a thread does to images.
    pub(crate) fn pipeline(&self) -> Pipeline {
        let config = &self.config;
        Pipeline::new(
            config.augment.clone(),
            config.normalize.clone(),
            self.dataset.shape,
            config.seed,
        )
    }

    /// Makes batch number `index` of a share of the epoch that has this order, in place of whatever
    /// `batch` held.
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
        // Every pixel is written below; what a batch held before is not cleared.
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
