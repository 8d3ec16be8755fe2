//! Batches in a shuffled order that can be repeated and resumed, prepared ahead on a thread.

use std::iter::FusedIterator;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use spikelet_random::{Generator, Stream};

use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// How many finished batches may wait to be used.
const PREFETCH: usize = 3;

/// The stream of random numbers for the order of the images; its step is the epoch.
const ORDER_STREAM: u32 = 0xda7a_0001;

/// How to cut a data set into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoaderConfig {
    /// Images in a batch.
    pub batch_size: usize,
    /// Whether each epoch has its own random order, instead of the data set's.
    pub shuffle: bool,
    /// Whether to leave out a last batch with fewer than `batch_size` images.
    pub drop_last: bool,
    /// Seed of the random order.
    pub seed: u64,
}

/// Some images with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The pixels, `[batch, channels, height, width]`, 0 (black) to 1: a byte divided by 255.
    pub images: Vec<f32>,
    /// The class of each image.
    pub labels: Vec<i64>,
    /// Which image of the data set each is.
    pub indices: Vec<u32>,
    /// Which batch of the epoch this is, counted from 0.
    pub index_in_epoch: usize,
}

impl Batch {
    /// Number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images; a loader makes no such batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// Cuts a data set into batches, epoch by epoch.
///
/// The order of an epoch depends on the seed and the epoch's number alone: not on earlier epochs,
/// on the number of threads, or on where the epoch was begun.
///
/// ```
/// use spikelet_data::{Loader, LoaderConfig, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let config = LoaderConfig { batch_size: 32, shuffle: true, drop_last: false, seed: 1 };
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
    /// As [`Dataset::check`]; [`Error::BatchSize`] if an epoch would have no batch.
    pub fn new(dataset: Arc<Dataset>, config: LoaderConfig) -> Result<Self> {
        dataset.check()?;
        let loader = Self { dataset, config };
        if config.batch_size == 0 || loader.is_empty() {
            return Err(Error::BatchSize {
                dataset: loader.dataset.name.clone(),
                batch_size: config.batch_size,
                len: loader.dataset.len(),
                drop_last: config.drop_last,
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
        let (batches, received) = mpsc::sync_channel(PREFETCH);
        let (recycled, spare) = mpsc::channel();
        let loader = self.clone();
        let worker = thread::spawn(move || loader.prepare(epoch, first_batch, &batches, &spare));
        Batches {
            remaining: self.len().saturating_sub(first_batch),
            received: Some(received),
            recycled,
            worker: Some(worker),
        }
    }

    /// Which image comes when in epoch `epoch`.
    fn order(&self, epoch: u64) -> Vec<u32> {
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

    /// The worker's whole life: it ends when the epoch does or when nobody listens any more.
    fn prepare(
        &self,
        epoch: u64,
        first_batch: usize,
        batches: &SyncSender<Batch>,
        spare: &Receiver<Batch>,
    ) {
        let order = self.order(epoch);
        let chunks = order.chunks(self.config.batch_size).enumerate();
        for (index_in_epoch, indices) in chunks.take(self.len()).skip(first_batch) {
            let mut batch = spare.try_recv().unwrap_or_else(|_| Batch {
                images: Vec::new(),
                labels: Vec::new(),
                indices: Vec::new(),
                index_in_epoch: 0,
            });
            self.fill(&mut batch, indices);
            batch.index_in_epoch = index_in_epoch;
            if batches.send(batch).is_err() {
                return;
            }
        }
    }

    fn fill(&self, batch: &mut Batch, indices: &[u32]) {
        let image_len = self.dataset.image_len();
        batch.indices.clear();
        batch.indices.extend_from_slice(indices);
        batch.labels.clear();
        batch.images.clear();
        batch.images.reserve(indices.len() * image_len);
        for &index in indices {
            let index = index as usize;
            let image = &self.dataset.images[index * image_len..][..image_len];
            batch
                .images
                .extend(image.iter().map(|&pixel| f32::from(pixel) / 255.0));
            batch.labels.push(self.dataset.labels[index].into());
        }
    }
}

/// The batches of an epoch, in order; made by [`Loader::epoch`].
///
/// Dropping it ends the thread behind it.
#[derive(Debug)]
pub struct Batches {
    remaining: usize,
    /// Gone once the iterator is being dropped, which is what the worker notices.
    received: Option<Receiver<Batch>>,
    recycled: Sender<Batch>,
    worker: Option<JoinHandle<()>>,
}

impl Batches {
    /// Gives the memory of a batch that is done with to a later one.
    ///
    /// ```
    /// # use spikelet_data::{Loader, LoaderConfig, synthetic};
    /// # let digits = synthetic::digits_of(1, 100, 10).train;
    /// # let config = LoaderConfig { batch_size: 32, shuffle: true, drop_last: false, seed: 1 };
    /// # let loader = Loader::new(digits, config)?;
    /// let mut batches = loader.epoch(0, 0);
    /// while let Some(batch) = batches.next() {
    ///     // … train with it …
    ///     batches.recycle(batch);
    /// }
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    pub fn recycle(&self, batch: Batch) {
        // Without a worker that could use it, the batch is simply freed.
        let _ = self.recycled.send(batch);
    }
}

impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        if self.remaining == 0 {
            return None;
        }
        match self.received.as_ref()?.recv() {
            Ok(batch) => {
                self.remaining -= 1;
                Some(batch)
            }
            // The worker ends early only by a panic: that must not pass for the epoch's end.
            Err(_) => match self.worker.take()?.join() {
                Err(cause) => panic::resume_unwind(cause),
                Ok(()) => None,
            },
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Batches {}

impl FusedIterator for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        self.received = None;
        if let Some(worker) = self.worker.take() {
            // A panic of the worker is passed on by `next`; to panic in `drop` could abort.
            let _ = worker.join();
        }
    }
}
