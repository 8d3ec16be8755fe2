//! One piece of scratch memory a thread, made when a plan is loaded.

use std::sync::{Mutex, MutexGuard};

/// A value for each thread of the pool; the lock is never contended.
pub(crate) struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    pub(crate) fn new(threads: usize, mut make: impl FnMut() -> T) -> Self {
        Self((0..threads.max(1)).map(|_| Mutex::new(make())).collect())
    }

    /// The running thread's value.
    pub(crate) fn get(&self) -> MutexGuard<'_, T> {
        let k = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        // A panic while scratch was held leaves numbers behind that the next user overwrites.
        self.0[k]
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
