//! The batches of an epoch, prepared in advance on threads.
//!
//! With n threads, thread k prepares the batches k, k + n, k + 2n, …, and the iterator receives one from
//! each in turn: batches are in order, and no thread is further ahead than the capacity of its channel, or than the
//! memory for prepared batches allows ([`Window`]).

use std::fmt;
use std::iter::FusedIterator;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use super::window::Window;
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
    shared: Arc<Epoch>,
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
    spare: Spare,
    window: Window,
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch")
            .field("epoch", &self.epoch)
            .field("shard", &self.shard)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl Epoch {
    /// The work of a thread: it ends with the epoch, or when its receiver is dropped.
    fn prepare(&self, indices: impl Iterator<Item = usize>, batches: &SyncSender<Result<Batch>>) {
        let order = self.order.get_or_init(|| self.loader.order(self.epoch));
        let mut collator = self.loader.collator();
        for index in indices {
            if !self.window.enter(index) {
                return;
            }
            let mut batch = self.spare.take();
            let (epoch, shard) = (self.epoch, self.shard);
            let filled = self
                .loader
                .fill(&mut batch, &mut collator, epoch, order, shard, index);
            let failed = filled.is_err();
            self.window.prepared(batch.bytes());
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
        let threads = threads.min(len);
        let shared = Arc::new(Epoch {
            loader: loader.clone(),
            epoch,
            shard,
            order: OnceLock::new(),
            spare: Spare::default(),
            window: Window::new(loader.config.prefetch_bytes, loader.batch_bytes()),
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
            shared,
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
        self.shared.spare.lock().push(batch);
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
                self.shared.window.advance();
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
        self.shared.window.close();
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // `next` resumes the panic of a thread; a panic in `drop` could abort the process.
                let _ = thread.join();
            }
        }
    }
}
