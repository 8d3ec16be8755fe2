//! The batches of an epoch, prepared ahead on threads.
//!
//! With n threads, thread k makes the batches k, k + n, k + 2n, …, and whoever asks for them takes
//! one from each in turn: they come in order, and no thread gets further ahead than its channel
//! has places.

use std::iter::FusedIterator;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use crate::batch::Batch;
use crate::loader::{Loader, Shard};

/// How many finished batches of a thread may wait to be used if it is the only one.
const PREFETCH_ALONE: usize = 3;

/// How many if it is one of several.
const PREFETCH: usize = 1;

/// The batches of an epoch, in order; made by [`Loader::epoch`] and
/// [`Loader::share`].
///
/// Dropping it ends the threads behind it.
#[derive(Debug)]
pub struct Batches {
    remaining: usize,
    workers: Vec<Worker>,
    /// Which of the workers has the next batch.
    turn: usize,
    spare: Arc<Spare>,
}

/// A thread that makes every n-th batch.
#[derive(Debug)]
struct Worker {
    /// Gone once the iterator is being dropped, which is what the thread notices.
    received: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<()>>,
}

/// Batches that are done with.
#[derive(Debug, Default)]
struct Spare(Mutex<Vec<Batch>>);

impl Spare {
    fn lock(&self) -> MutexGuard<'_, Vec<Batch>> {
        // A push or a pop leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Batch {
        self.lock().pop().unwrap_or_default()
    }
}

/// What the threads of an epoch share.
struct Epoch {
    loader: Loader,
    epoch: u64,
    share: Shard,
    /// Worked out by whichever thread comes first.
    order: OnceLock<Vec<u32>>,
    spare: Arc<Spare>,
}

impl Epoch {
    /// A thread's whole life: it ends when the epoch does or when nobody listens any more.
    fn prepare(&self, indices: impl Iterator<Item = usize>, batches: &SyncSender<Batch>) {
        let order = self.order.get_or_init(|| self.loader.order(self.epoch));
        let mut pipeline = self.loader.pipeline();
        for index in indices {
            let mut batch = self.spare.take();
            let (epoch, share) = (self.epoch, self.share);
            self.loader
                .fill(&mut batch, &mut pipeline, epoch, order, share, index);
            if batches.send(batch).is_err() {
                return;
            }
        }
    }
}

impl Batches {
    /// The `len` batches of a share, made by `threads` threads, or fewer if there are fewer batches.
    pub(crate) fn start(
        loader: &Loader,
        epoch: u64,
        share: Shard,
        len: usize,
        threads: usize,
    ) -> Self {
        let spare = Arc::new(Spare::default());
        let threads = threads.min(len);
        let shared = Arc::new(Epoch {
            loader: loader.clone(),
            epoch,
            share,
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

    /// Gives the memory of a batch that is done with to a later one.
    ///
    /// ```
    /// # use spikelet_data::{Loader, LoaderConfig, synthetic};
    /// # let digits = synthetic::digits_of(1, 100, 10).train;
    /// # let loader = Loader::new(digits, LoaderConfig::default())?;
    /// let mut batches = loader.epoch(0, 0);
    /// while let Some(batch) = batches.next() {
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
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        if self.remaining == 0 {
            return None;
        }
        let worker = &mut self.workers[self.turn];
        match worker.received.as_ref()?.recv() {
            Ok(batch) => {
                self.remaining -= 1;
                self.turn = (self.turn + 1) % self.workers.len();
                Some(batch)
            }
            // A worker ends early only by a panic: that must not pass for the epoch's end.
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
        // First nobody listens to any of them, so that they end at the same time.
        for worker in &mut self.workers {
            worker.received = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // A panic of a thread is passed on by `next`; to panic in `drop` could abort.
                let _ = thread.join();
            }
        }
    }
}
