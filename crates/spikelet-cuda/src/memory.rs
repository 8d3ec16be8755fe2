//! Device memory and pinned host memory, freed when dropped.

use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::library::driver::{DriverError, Event, Stream, UNTIMED, written};
use spikelet_graph::{Buffer, DeviceId, Result, Storage};
use std::ptr;
use std::sync::Arc;

/// An allocation of device memory.
pub(crate) struct DeviceMemory {
    pub(crate) pointer: u64,
    pub(crate) bytes: usize,
    gpu: Arc<Gpu>,
}

/// A number of bytes as text, such as `1.5 GiB`.
pub(crate) fn size(bytes: usize) -> String {
    let units = [(1_usize << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in units {
        if bytes >= unit {
            return format!("{:.1} {name}", bytes as f64 / unit as f64);
        }
    }
    format!("{bytes} B")
}

impl DeviceMemory {
    /// Allocates memory with undefined content; `what` names its purpose in an out-of-memory error.
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: usize, what: &str) -> Result<Self> {
        Self::or_advise(gpu, bytes, what, String::new)
    }

    /// As [`DeviceMemory::new`], appending `advice()` to an out-of-memory error.
    pub(crate) fn or_advise(
        gpu: &Arc<Gpu>,
        bytes: usize,
        what: &str,
        advice: impl FnOnce() -> String,
    ) -> Result<Self> {
        gpu.bind()?;
        let allocate = gpu.context.driver.allocate;
        // SAFETY: the context is current; the size is not zero; one address is written.
        let allocated = written(0, |to| unsafe { allocate(to, bytes.max(16)) });
        match allocated {
            Ok(pointer) => Ok(Self {
                pointer,
                bytes,
                gpu: gpu.clone(),
            }),
            Err(DriverError::OUT_OF_MEMORY) => {
                let (free, total) = gpu.context.memory().unwrap_or((0, 0));
                Err(failure(
                    &gpu.name,
                    format!(
                        "out of memory: {what} needs {}, {} of {} are free{}",
                        size(bytes),
                        size(free),
                        size(total),
                        advice()
                    ),
                ))
            }
            Err(error) => Err(failure(
                &gpu.name,
                format!("allocating {} for {what}: {error}", size(bytes)),
            )),
        }
    }

    /// Sets all bytes to zero, in order with the kernels.
    pub(crate) fn clear(&self) -> Result<()> {
        let gpu = &self.gpu;
        if self.bytes == 0 {
            return Ok(());
        }
        gpu.bind()?;
        // SAFETY: the memory has this size, and the stream belongs to its context.
        unsafe { gpu.stream.fill(self.pointer, 0, self.bytes) }
            .context(&gpu.name, "clearing memory")
    }

    /// Whether the memory is on this GPU.
    pub(crate) fn is_on(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(&self.gpu, gpu)
    }
}

impl Storage for DeviceMemory {
    fn device(&self) -> DeviceId {
        self.gpu.id
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.gpu.context.bind().is_ok() {
            // SAFETY: allocated by `new` and freed once. The driver waits for kernels that may still
            // use it. After a lost context there is nothing to free.
            let _ = unsafe { (self.gpu.context.driver.free)(self.pointer) };
        }
    }
}

/// Page-locked host memory, which the GPU accesses directly.
pub(crate) struct PinnedMemory {
    pointer: *mut u8,
    bytes: usize,
    gpu: Arc<Gpu>,
}

// SAFETY: the memory is owned, and access goes through `&self` and `&mut self`.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above; `&self` only reads.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Self> {
        gpu.bind()?;
        let allocate = gpu.context.driver.allocate_host;
        // SAFETY: the context is current; flags 0 are the default; one pointer is written.
        let allocated = written(ptr::null_mut(), |to| unsafe {
            allocate(to, bytes.max(16), 0)
        });
        let what = || format!("pinning {} of host memory", size(bytes));
        let pointer = allocated.with_context(&gpu.name, what)?.cast::<u8>();
        // SAFETY: freshly allocated, at least `bytes` long.
        unsafe { pointer.write_bytes(0, bytes) };
        Ok(Self {
            pointer,
            bytes,
            gpu: gpu.clone(),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: allocated with this length, initialized, alive as long as self.
        unsafe { std::slice::from_raw_parts(self.pointer, self.bytes) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.gpu.context.bind().is_ok() {
            // SAFETY: allocated by `new` and freed once.
            let _ = unsafe { (self.gpu.context.driver.free_host)(self.pointer.cast()) };
        }
    }
}

/// Records an event on a stream, for waiting.
pub(crate) fn mark(gpu: &Gpu, stream: &Stream) -> Result<Event> {
    stream
        .record_event(UNTIMED)
        .context(&gpu.name, "recording an event")
}

/// The memory of a buffer of this GPU.
pub(crate) fn memory_of<'a>(gpu: &Gpu, buffer: &'a Buffer) -> Result<&'a DeviceMemory> {
    buffer.storage(gpu.id, &gpu.name)
}
