//! The threads of libtorch: no second pool competes for the cores, and `torch.set_num_threads` is obeyed.

use super::shim::shim;
use spikelet_cpu::Workers;
use std::ffi::c_void;
use std::sync::OnceLock;

/// The threads that libtorch's own operators run on.
pub(super) struct TorchThreads;

/// Whether this process was forked from the one that registered the operators: libtorch's threads did not come along,
/// and its OpenMP would wait for them. The first call is that of the registration.
pub(super) fn is_forked() -> bool {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    let process = std::process::id();
    *PROCESS.get_or_init(|| process) != process
}

/// The work of a call, behind the pointer that libtorch passes on.
struct Work<'a>(&'a (dyn Fn(usize) + Sync));

unsafe extern "C-unwind" fn run_range(begin: i64, end: i64, work: *mut c_void) {
    // SAFETY: `TorchThreads::run` passes a reference that lives until all ranges are done.
    let work = unsafe { &*work.cast::<Work<'_>>() };
    (begin as usize..end as usize).for_each(work.0);
}

impl Workers for TorchThreads {
    fn threads(&self) -> usize {
        threads()
    }

    fn run(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        if is_forked() {
            return (0..count).for_each(work);
        }
        let work = Work(work);
        let context = std::ptr::from_ref(&work).cast_mut().cast();
        // SAFETY: the function has the type of the header, and the context lives until the call returns.
        let failed = unsafe { (shim().torch_parallel_for)(0, count as i64, 1, run_range, context) };
        assert_eq!(failed, 0, "libtorch ran the work");
    }
}

/// The number of threads that libtorch uses.
pub(super) fn threads() -> usize {
    let mut threads = 0;
    // SAFETY: one value is written.
    match unsafe { (shim().torch_get_num_threads)(&mut threads) } {
        0 => threads as usize,
        _ => 1,
    }
}
