//! The batches of an epoch, prepared in advance on threads.
//!
//! With n threads, thread k prepares the batches k, k + n, k + 2n, …, and the iterator receives one from
//! each in turn: batches are in order, and no thread is further ahead than the capacity of its channel.

use std::iter::FusedIterator;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use super::{DataLoader, Shard};
use crate::batch::Batch;
use crate::error::Result;

/// The capacity of the channel of a single thread in batches.
const PREFETCH_ALONE: usize = 3;

/// The capacity of the channel of each of several threads.
const PREFETCH: usize = 1;

/// The batches of an epoch in order, of [`DataLoader::epoch`] and [`DataLoader::shard`].
///
/// After an error there are no more batches. Dropping it ends its threads.
#[derive(Debug)]
pub struct Batches {
    remaining: usize,
    workers: Vec<Worker>,
    /// The worker of the next batch.
    turn: usize,
    spare: Arc<Spare>,
}

/// A thread that prepares every n-th batch.
#[derive(Debug)]
struct Worker {
    /// `None` once the iterator is dropped: the thread ends.
    received: Option<Receiver<Result<Batch>>>,
    thread: Option<JoinHandle<()>>,
}

/// Recycled batches.
#[derive(Debug, Default)]
struct Spare(Mutex<Vec<Batch>>);

impl Spare {
    fn lock(&self) -> MutexGuard<'_, Vec<Batch>> {
        // A push or pop is never half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Batch {
        self.lock().pop().unwrap_or_default()
    }
}

/// The shared state of the threads of an epoch.
struct Epoch {
    loader: DataLoader,
    epoch: u64,
    shard: Shard,
    /// Computed by the first thread that needs it.
    order: OnceLock<Vec<u32>>,
    spare: Arc<Spare>,
}

impl Epoch {
    /// The work of a thread: it ends with the epoch, or when its receiver is dropped.
    fn prepare(&self, indices: impl Iterator<Item = usize>, batches: &SyncSender<Result<Batch>>) {
        let order = self.order.get_or_init(|| self.loader.order(self.epoch));
        let mut collator = self.loader.collator();
        for index in indices {
            let mut batch = self.spare.take();
            let (epoch, shard) = (self.epoch, self.shard);
            let filled = self
                .loader
                .fill(&mut batch, &mut collator, epoch, order, shard, index);
            let failed = filled.is_err();
            if batches.send(filled.map(|()| batch)).is_err() || failed {
                return;
            }
        }
    }
}

impl Batches {
    /// The `len` batches of a shard, prepared by at most `threads` threads.
    pub(crate) fn start(
        loader: &DataLoader,
        epoch: u64,
        shard: Shard,
        len: usize,
        threads: usize,
    ) -> Self {
        let spare = Arc::new(Spare::default());
        let threads = threads.min(len);
        let shared = Arc::new(Epoch {
            loader: loader.clone(),
            epoch,
            shard,
            order: OnceLock::new(),
            spare: spare.clone(),
        });
        let places = if threads == 1 {
            PREFETCH_ALONE
        } else {
            PREFETCH
        };
        let start = |number| {
            let (batches, received) = mpsc::sync_channel(places);
            let shared = shared.clone();
            let indices = (number..len).step_by(threads);
            Worker {
                received: Some(received),
                thread: Some(thread::spawn(move || shared.prepare(indices, &batches))),
            }
        };
        Self {
            remaining: len,
            workers: (0..threads).map(start).collect(),
            turn: 0,
            spare,
        }
    }

    /// Reuses the memory of a batch for a later one.
    ///
    /// ```
    /// # use spikelet_data::{DataLoader, LoaderConfig, synthetic};
    /// # let digits = synthetic::digits_of(1, 100, 10).train;
    /// # let loader = DataLoader::new(digits, LoaderConfig::default())?;
    /// let mut batches = loader.epoch(0, 0);
    /// while let Some(batch) = batches.next().transpose()? {
    ///     // … train with it …
    ///     batches.recycle(batch);
    /// }
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    pub fn recycle(&self, batch: Batch) {
        self.spare.lock().push(batch);
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.remaining == 0 {
            return None;
        }
        let worker = &mut self.workers[self.turn];
        match worker.received.as_ref()?.recv() {
            Ok(Err(error)) => {
                self.remaining = 0;
                Some(Err(error))
            }
            Ok(Ok(batch)) => {
                self.remaining -= 1;
                self.turn = (self.turn + 1) % self.workers.len();
                Some(Ok(batch))
            }
            // A worker ends early only by a panic, which is not the end of the epoch.
            Err(_) => match worker.thread.take()?.join() {
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
        // All receivers are dropped first, so that the threads end concurrently.
        for worker in &mut self.workers {
            worker.received = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // `next` resumes the panic of a thread; a panic in `drop` could abort the process.
                let _ = thread.join();
            }
        }
    }
}
