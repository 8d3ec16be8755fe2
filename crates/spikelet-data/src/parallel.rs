//! Independent pieces of work on all cores.
//!
//! The threads live as long as the work: a process that is forked, such as a worker of PyTorch's `DataLoader`, has none of
//! the threads of a pool that its parent started, and would wait for them for ever.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The results of `work` for each number below `count`, in order.
pub(crate) fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = numbers.take_while(|number| *number < count);
        mine.map(|number| (number, work(number)))
            .collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut results = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The results of `work` for each chunk of `size` values, with its number, in order.
pub(crate) fn map_chunks<T: Send, R: Send>(
    values: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let chunks: Vec<_> = values.chunks_mut(size).map(Mutex::new).collect();
    map(chunks.len(), |number| {
        let mut chunk = chunks[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(number, &mut chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_each_piece_is_done_once() {
        for count in [0, 1, 2, 1000] {
            assert!(
                map(count, |number| 3 * number)
                    .into_iter()
                    .eq((0..count).map(|k| 3 * k))
            );
        }
        let mut values: Vec<usize> = (0..1003).collect();
        let lengths = map_chunks(&mut values, 10, |number, chunk| {
            chunk.iter_mut().for_each(|value| *value += number);
            chunk.len()
        });
        assert_eq!((lengths.len(), lengths[0], lengths[100]), (101, 10, 3));
        assert!(values.into_iter().eq((0..1003).map(|k| k + k / 10)));
    }

    #[test]
    #[should_panic(expected = "piece 7")]
    fn a_panic_is_that_of_the_caller() {
        map(9, |number| assert!(number != 7, "piece 7"));
    }
}
