//! Memory for intermediate values of calls on the CPU, kept by each thread.

use std::cell::RefCell;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "memory of kernels")] [u8; 64]);

/// The most bytes that a thread keeps.
const KEPT: usize = 8 << 20;

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(vec![]) };
}

/// Calls `work` with the address of at least `bytes` bytes, aligned to 64 bytes.
pub(super) fn with<T>(bytes: usize, work: impl FnOnce(usize) -> T) -> T {
    let mut lines = LINES.take();
    let count = bytes.div_ceil(size_of::<Line>());
    if lines.len() < count {
        lines.resize(count, Line([0; 64]));
    }
    let done = work(lines.as_mut_ptr().addr());
    if lines.len() * size_of::<Line>() <= KEPT {
        LINES.set(lines);
    }
    done
}
