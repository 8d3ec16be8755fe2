//! Scratch memory of which every thread of a pool has a piece.

use crate::memory::Shared;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A value for each thread of the pool, made when a plan is loaded.
///
/// A thread takes its value for one piece of work at a time. Work that waits for other tasks while
/// it holds the value may be given one that wants it too: that panics, rather than share it.
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
        self.numbered().1
    }

    /// The running thread's number and its value.
    fn numbered(&self) -> (usize, MutexGuard<'_, T>) {
        let k = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        let value = match self.0[k].try_lock() {
            Ok(value) => value,
            // A panic while scratch was held leaves numbers behind that the next user overwrites.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("scratch memory of thread {k} is in use"),
        };
        (k, value)
    }
}

/// A kernel's workspace, of which every thread has a piece.
pub(crate) struct Pieces<'a, R> {
    memory: Shared<'a, R>,
    each: usize,
    threads: &'a PerThread<()>,
}

impl<'a, R> Pieces<'a, R> {
    /// Cuts `each` elements a thread off the memory.
    pub(crate) fn new(memory: &'a mut [R], each: usize, threads: &'a PerThread<()>) -> Self {
        Self {
            memory: Shared::new(memory),
            each,
            threads,
        }
    }

    /// Cuts the memory in as many pieces as there are threads.
    pub(crate) fn equal(memory: &'a mut [R], threads: &'a PerThread<()>) -> Self {
        let each = memory.len() / threads.threads();
        Self::new(memory, each, threads)
    }

    /// Hands the running thread's piece to `work`.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut [R]) -> T) -> T {
        let (thread, _held) = self.threads.numbered();
        // SAFETY: each thread's number has a piece of its own, which is in use only while its lock
        // is held.
        work(unsafe { self.memory.range(thread * self.each, self.each) })
    }
}

#[cfg(test)]
mod tests {
    use super::{PerThread, Pieces};
    use rayon::prelude::*;

    fn pool() -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        pool.build().unwrap()
    }

    #[test]
    fn every_thread_has_a_piece_of_its_own() {
        let threads = PerThread::new(3, || ());
        let mut memory = vec![0_u64; 31];
        pool().install(|| {
            let pieces = Pieces::equal(&mut memory, &threads);
            (0..300).into_par_iter().for_each(|_| {
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
