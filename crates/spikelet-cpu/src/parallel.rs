//! Work that is divided among threads: those of rayon, or those of the caller of a plan.
//!
//! A plan that another program calls ([`crate::CallablePlan`]) runs on that program's threads, so that two pools
//! do not compete for the cores. The pieces of work are the same.
//!
//! This is the only module that calls rayon: elsewhere rayon would run the work of a callable plan on its global
//! pool, whose threads a forked process does not have. `clippy.toml` disallows it.
#![allow(
    clippy::disallowed_methods,
    reason = "the module that the others call instead"
)]

use crate::memory::SharedSlice;
use rayon::prelude::*;
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads of another program.
pub trait Workers: Sync {
    /// The number of threads that can work at the same time.
    fn threads(&self) -> usize;

    /// Calls `work` with every number below `count`, each once, on any threads, and returns when all calls have
    /// returned. `work` does not panic.
    fn run(&self, count: usize, work: &(dyn Fn(usize) + Sync));
}

/// The calling thread alone.
#[derive(Clone, Copy, Debug)]
pub struct CallingThread;

impl Workers for CallingThread {
    fn threads(&self) -> usize {
        1
    }

    fn run(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(work);
    }
}

/// The workers of the plan that runs on this thread.
#[derive(Clone, Copy)]
struct Current {
    workers: *const (dyn Workers + 'static),
    /// The most pieces of scratch memory.
    threads: usize,
}

/// The threads of a device.
///
/// A process that is forked has none of them: there, work runs on the thread that asks for it.
pub(crate) struct Pool {
    threads: ManuallyDrop<rayon::ThreadPool>,
    /// The process that has the threads.
    process: u32,
}

impl Pool {
    /// Starts this many threads; 0 is one per core.
    pub(crate) fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("spikelet-{k}"))
            .build()?;
        Ok(Self {
            threads: ManuallyDrop::new(pool),
            process: std::process::id(),
        })
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.current_num_threads()
    }

    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Whether the calling thread runs work of the pool.
    pub(crate) fn is_current(&self) -> bool {
        self.threads.current_thread_index().is_some()
            || (self.is_forked() && CURRENT.get().is_some())
    }

    /// Runs `work`, whose loops are divided among the threads.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.is_forked() {
            true => on_workers(&CallingThread, 1, work),
            false => self.threads.install(work),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.is_forked() {
            // SAFETY: dropped once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.threads) };
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// The index of this thread among the workers.
    static INDEX: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Sets a thread-local value until it is dropped.
struct Setting<T: Copy + 'static> {
    cell: &'static std::thread::LocalKey<Cell<T>>,
    before: T,
}

impl<T: Copy + 'static> Setting<T> {
    fn new(cell: &'static std::thread::LocalKey<Cell<T>>, value: T) -> Self {
        let before = cell.replace(value);
        Self { cell, before }
    }
}

impl<T: Copy + 'static> Drop for Setting<T> {
    fn drop(&mut self) {
        self.cell.set(self.before);
    }
}

/// Runs `work`, whose loops are divided among the workers. At most `threads` of them work at the same time.
pub(crate) fn on_workers<T>(workers: &dyn Workers, threads: usize, work: impl FnOnce() -> T) -> T {
    let workers: *const (dyn Workers + '_) = workers;
    // SAFETY: only the lifetime is changed; the setting ends before the borrow does.
    let workers: *const (dyn Workers + 'static) = unsafe { std::mem::transmute(workers) };
    let threads = threads.max(1);
    let _current = Setting::new(&CURRENT, Some(Current { workers, threads }));
    let _index = Setting::new(&INDEX, Some(0));
    work()
}

/// The index of the running thread among those that work at the same time.
pub(crate) fn thread_index() -> usize {
    match INDEX.get() {
        Some(index) => index,
        None => rayon::current_thread_index().unwrap_or(0),
    }
}

/// The number of threads that share the work.
pub(crate) fn threads() -> usize {
    CURRENT
        .get()
        .map_or_else(rayon::current_num_threads, |current| current.threads)
}

/// Calls `work` with every number below `count`.
pub(crate) fn for_each(count: usize, work: impl Fn(usize) + Sync + Send) {
    match CURRENT.get() {
        None => (0..count).into_par_iter().for_each(work),
        Some(current) => current.for_each(count, &work),
    }
}

/// As [`for_each`], for pieces that are large or differ in size: each is a task of its own.
pub(crate) fn for_each_task(count: usize, work: impl Fn(usize) + Sync + Send) {
    match CURRENT.get() {
        None => (0..count).into_par_iter().with_max_len(1).for_each(work),
        Some(current) => current.for_each(count, &work),
    }
}

/// Calls `work` with every chunk of `size` elements and its number; the last chunk may be shorter.
pub(crate) fn for_each_chunk<T: Send>(
    slice: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let (length, size) = (slice.len(), size.max(1));
    let shared = SharedSlice::new(slice);
    for_each(length.div_ceil(size), |k| {
        let first = k * size;
        // SAFETY: chunks are disjoint.
        work(k, unsafe { shared.range(first, size.min(length - first)) });
    });
}

/// The chunk with this number; the last may be shorter.
pub(crate) fn chunk<T>(slice: &[T], size: usize, number: usize) -> &[T] {
    let end = slice.len();
    &slice[(number * size).min(end)..((number + 1) * size).min(end)]
}

impl Current {
    fn for_each(self, count: usize, work: &(impl Fn(usize) + Sync)) {
        let threads = self.threads.min(count);
        if threads <= 1 {
            return (0..count).for_each(work);
        }
        let next = AtomicUsize::new(0);
        let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
        let piece = |index: usize| {
            let _index = Setting::new(&INDEX, Some(index));
            // Loops within a piece of work run on its thread.
            let alone = Current {
                workers: &CallingThread,
                threads: 1,
            };
            let _current = Setting::new(&CURRENT, Some(alone));
            let done = catch_unwind(AssertUnwindSafe(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= count {
                        break;
                    }
                    work(k);
                }
            }));
            if let Err(payload) = done {
                *panic.lock().unwrap_or_else(|e| e.into_inner()) = Some(payload);
            }
        };
        // SAFETY: `on_workers` keeps the reference alive as long as it is set.
        unsafe { &*self.workers }.run(threads, &piece);
        if let Some(payload) = panic.into_inner().unwrap_or_else(|e| e.into_inner()) {
            resume_unwind(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scoped;

    impl Workers for Scoped {
        fn threads(&self) -> usize {
            3
        }
        fn run(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| {
                for k in 0..count {
                    scope.spawn(move || work(k));
                }
            });
        }
    }

    #[test]
    fn every_piece_is_done_once_on_any_threads() {
        let sum = |run: &dyn Fn(&mut [usize])| {
            let mut values = vec![0; 1001];
            run(&mut values);
            values
        };
        let fill = |values: &mut [usize]| {
            for_each_chunk(values, 10, |k, chunk| {
                chunk.iter_mut().for_each(|v| *v += k)
            });
        };
        let expected: Vec<usize> = (0..1001).map(|k| k / 10).collect();
        assert_eq!(sum(&fill), expected);
        assert_eq!(sum(&|v| on_workers(&Scoped, 3, || fill(v))), expected);
        assert_eq!(
            sum(&|v| on_workers(&CallingThread, 1, || fill(v))),
            expected
        );
    }

    #[test]
    fn the_last_chunk_is_shorter() {
        let values = [1, 2, 3, 4, 5];
        let chunks = [0, 1, 2, 3].map(|k| chunk(&values, 2, k));
        assert_eq!(chunks, [&[1, 2][..], &[3, 4], &[5], &[]]);
    }

    #[test]
    fn indices_of_threads_are_below_their_number() {
        on_workers(&Scoped, 3, || {
            for_each(100, |_| assert!(thread_index() < 3))
        });
    }

    #[test]
    #[should_panic(expected = "piece 7")]
    fn a_panic_in_a_piece_reaches_the_caller() {
        on_workers(&Scoped, 3, || {
            for_each(100, |k| assert!(k != 7, "piece {k}"))
        });
    }
}
