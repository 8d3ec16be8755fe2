//! The limit of the memory of prepared batches.
//!
//! The batches in memory are those from the next one of the iterator to the last one that a thread has begun. A thread
//! begins a batch when all of these together, each as large as the largest one so far, are within the limit. The next
//! batch of the iterator is always begun, so that a limit below the size of a batch cannot stop an epoch.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The batches that threads may prepare.
#[derive(Debug)]
pub(super) struct Window {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The next batch of the iterator.
    next: usize,
    /// The bytes of the largest batch so far, or those that are expected.
    batch_bytes: usize,
    /// Whether the iterator was dropped.
    closed: bool,
}

impl Window {
    /// At most `limit` bytes, of batches that are expected to have `batch_bytes` each.
    pub(super) fn new(limit: usize, batch_bytes: usize) -> Self {
        Self {
            limit,
            state: Mutex::new(State {
                next: 0,
                batch_bytes,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A change of the state is never half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until batch `index` may be begun; false if it is not needed any more.
    pub(super) fn enter(&self, index: usize) -> bool {
        let waits = |state: &mut State| {
            let ahead = index.saturating_sub(state.next);
            let bytes = (ahead + 1).saturating_mul(state.batch_bytes);
            !state.closed && ahead > 0 && bytes > self.limit
        };
        let state = self.changed.wait_while(self.lock(), waits);
        !state.unwrap_or_else(PoisonError::into_inner).closed
    }

    /// A thread has prepared a batch of so many bytes.
    pub(super) fn prepared(&self, bytes: usize) {
        let mut state = self.lock();
        state.batch_bytes = state.batch_bytes.max(bytes);
    }

    /// The iterator has returned its next batch.
    pub(super) fn advance(&self) {
        self.lock().next += 1;
        self.changed.notify_all();
    }

    /// No more batches are needed.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn batches_within_the_limit_are_begun_and_others_wait_for_the_iterator() {
        let window = Window::new(100, 0);
        assert!([0, 5, 50].iter().all(|&index| window.enter(index)));
        window.prepared(30);
        assert!(window.enter(2));
        thread::scope(|scope| {
            let third = scope.spawn(|| window.enter(3));
            window.advance();
            assert!(third.join().unwrap());
            let later = scope.spawn(|| window.enter(40));
            window.close();
            assert!(!later.join().unwrap());
        });
    }

    #[test]
    fn the_next_batch_is_begun_whatever_the_limit() {
        let window = Window::new(0, usize::MAX);
        assert!(window.enter(0));
        window.advance();
        assert!(window.enter(1));
    }
}
