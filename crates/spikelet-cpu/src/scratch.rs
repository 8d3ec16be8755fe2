//! Scratch memory with a separate piece for every thread of a pool.

use crate::memory::SharedSlice;
use crate::parallel;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A value for each thread of the pool, created when a plan is loaded.
///
/// A thread uses its value for one task at a time. A task that waits for other tasks while it holds
/// the value may execute one that needs it too: that panics instead of sharing it.
pub(crate) struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    pub(crate) fn new(threads: usize, mut make: impl FnMut() -> T) -> Self {
        Self((0..threads.max(1)).map(|_| Mutex::new(make())).collect())
    }

    pub(crate) fn threads(&self) -> usize {
        self.0.len()
    }

    /// The running thread's value.
    pub(crate) fn get(&self) -> MutexGuard<'_, T> {
        self.index_and_value().1
    }

    /// The running thread's index and its value.
    fn index_and_value(&self) -> (usize, MutexGuard<'_, T>) {
        let k = parallel::thread_index() % self.0.len();
        let value = match self.0[k].try_lock() {
            Ok(value) => value,
            // After a panic the content is arbitrary; the next user overwrites it.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("scratch memory of thread {k} is in use"),
        };
        (k, value)
    }
}

/// A kernel's workspace, with a piece for every thread.
pub(crate) struct Pieces<'a, R> {
    memory: SharedSlice<'a, R>,
    each: usize,
    threads: &'a PerThread<()>,
}

impl<'a, R> Pieces<'a, R> {
    /// Partitions the memory into pieces of `each` elements.
    pub(crate) fn new(memory: &'a mut [R], each: usize, threads: &'a PerThread<()>) -> Self {
        Self {
            memory: SharedSlice::new(memory),
            each,
            threads,
        }
    }

    /// Partitions the memory equally among the threads.
    pub(crate) fn equal(memory: &'a mut [R], threads: &'a PerThread<()>) -> Self {
        let each = memory.len() / threads.threads();
        Self::new(memory, each, threads)
    }

    /// Calls `work` with the running thread's piece.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut [R]) -> T) -> T {
        let (thread, _held) = self.threads.index_and_value();
        // SAFETY: each thread index has a separate piece, which is in use only while its lock is
        // held.
        work(unsafe { self.memory.range(thread * self.each, self.each) })
    }
}

#[cfg(test)]
mod tests {
    use super::{PerThread, Pieces};
    use crate::parallel::{self, Pool};

    #[test]
    fn every_thread_has_a_piece_of_its_own() {
        let threads = PerThread::new(3, || ());
        let mut memory = vec![0_u64; 31];
        Pool::new(3).unwrap().run(|| {
            let pieces = Pieces::equal(&mut memory, &threads);
            parallel::for_each(300, |_| {
                pieces.with(|piece| {
                    assert_eq!(piece.len(), 10);
                    piece.iter_mut().for_each(|count| *count += 1);
                });
            });
        });
        let counts: Vec<u64> = (0..3).map(|k| memory[10 * k]).collect();
        assert_eq!(counts.iter().sum::<u64>(), 300, "{counts:?}");
        for k in 0..3 {
            let piece = &memory[10 * k..10 * (k + 1)];
            assert!(piece.iter().all(|count| *count == counts[k]), "{memory:?}");
        }
        assert_eq!(memory[30], 0);
    }

    #[test]
    #[should_panic(expected = "is in use")]
    fn a_piece_is_not_handed_out_twice_to_one_thread() {
        let threads = PerThread::new(1, || ());
        let mut memory = [0_u64; 4];
        let pieces = Pieces::new(&mut memory, 4, &threads);
        pieces.with(|first| {
            pieces.with(|second| second[0] = 1);
            first[0] = 2;
        });
    }
}
