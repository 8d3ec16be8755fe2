//! The devices that layers run on, opened when first needed.

use spikelet_core::Result;
use spikelet_cpu::Cpu;
use spikelet_cuda::Cuda;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Cpu,
    /// A GPU, by its index in this process.
    Cuda(i32),
}

/// The most threads of a call on the CPU; 0: one per core.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the most threads of a call on the CPU, before the first call.
pub(crate) fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

/// The CPU. Its own threads are not used by calls.
pub(crate) fn cpu() -> Result<&'static Cpu> {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    if let Some(cpu) = CPU.get() {
        return Ok(cpu);
    }
    let cpu = Cpu::new(THREADS.load(Ordering::Relaxed))?;
    Ok(CPU.get_or_init(|| cpu))
}

/// The GPU with this index.
pub(crate) fn cuda(index: i32) -> Result<Cuda> {
    static OPEN: OnceLock<Mutex<HashMap<i32, Cuda>>> = OnceLock::new();
    let open = OPEN.get_or_init(Mutex::default);
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = open.get(&index) {
        return Ok(gpu.clone());
    }
    let gpu = Cuda::new(usize::try_from(index).unwrap_or_default())?;
    open.insert(index, gpu.clone());
    Ok(gpu)
}
