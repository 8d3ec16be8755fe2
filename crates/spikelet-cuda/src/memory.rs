//! Device memory and pinned host memory, freed when dropped.

use crate::error::{Context, describe, failure};
use crate::gpu::Gpu;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaEvent, CudaStream, result};
use spikelet_graph::{Buffer, DeviceId, Result, Storage};
use std::ffi::c_void;
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
        // SAFETY: the context is current; the size is not zero.
        let allocated = unsafe { result::malloc_sync(bytes.max(16)) };
        match allocated {
            Ok(pointer) => Ok(Self {
                pointer,
                bytes,
                gpu: gpu.clone(),
            }),
            Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let (free, total) = gpu.context.mem_get_info().unwrap_or((0, 0));
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
                format!(
                    "allocating {} for {what}: {}",
                    size(bytes),
                    describe(&error)
                ),
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
        unsafe { result::memset_d8_async(self.pointer, 0, self.bytes, gpu.stream.cu_stream()) }
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
        if self.gpu.context.bind_to_thread().is_ok() {
            // SAFETY: the pointer came from `malloc_sync` and is freed once. The driver waits for
            // kernels that may still use it. After a lost context there is nothing to free.
            let _ = unsafe { result::free_sync(self.pointer) };
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
        // SAFETY: the context is current; flags 0 are the default.
        let pointer = unsafe { result::malloc_host(bytes.max(16), 0) }
            .context(
                &gpu.name,
                &format!("pinning {} of host memory", size(bytes)),
            )?
            .cast::<u8>();
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
        if self.gpu.context.bind_to_thread().is_ok() {
            // SAFETY: the pointer came from `malloc_host` and is freed once.
            let _ = unsafe { result::free_host(self.pointer.cast::<c_void>()) };
        }
    }
}

/// Starts a copy of host bytes to the device.
///
/// # Safety
/// `to` must point to `from.len()` bytes of device memory, and `from` must outlive the copy and not be written before it is done.
pub(crate) unsafe fn upload_async(
    to: u64,
    from: &[u8],
    stream: &CudaStream,
) -> std::result::Result<(), cudarc::driver::DriverError> {
    // SAFETY: the caller's promise.
    unsafe { result::memcpy_htod_async(to, from, stream.cu_stream()) }
}

/// Starts a copy of device bytes to the host.
///
/// # Safety
/// `from` must point to `to.len()` bytes of device memory, and `to` must outlive the copy and not be accessed before it is done.
pub(crate) unsafe fn download_async(
    to: &mut [u8],
    from: u64,
    stream: &CudaStream,
) -> std::result::Result<(), cudarc::driver::DriverError> {
    // SAFETY: the caller's promise.
    unsafe { result::memcpy_dtoh_async(to, from, stream.cu_stream()) }
}

/// Records an event on a stream, for waiting.
pub(crate) fn mark(gpu: &Gpu, stream: &CudaStream) -> Result<CudaEvent> {
    stream
        .record_event(None)
        .context(&gpu.name, "recording an event")
}

/// The memory of a buffer of this GPU.
pub(crate) fn memory_of<'a>(gpu: &Gpu, buffer: &'a Buffer) -> Result<&'a DeviceMemory> {
    buffer.storage(gpu.id, &gpu.name)
}
