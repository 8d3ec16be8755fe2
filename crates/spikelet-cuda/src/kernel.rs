//! Kernels of other crates: compiled from text, loaded, and launched on the stream of a [`Cuda`].
//!
//! This is the interface on which `spikelet-auto-cuda` is built. It checks sizes only: the memory that a
//! kernel accesses depends on its text, so launching one is `unsafe`.
//! Kernels inside a network are operations with
//! [device code](spikelet_graph::op::CustomOp::device_code) instead.
//!
//! ```no_run
//! use spikelet_cuda::Cuda;
//! use spikelet_cuda::kernel::{LoadedKernel, LaunchArg, RawBuffer, StreamLock};
//! let gpu = Cuda::new(0)?;
//! let text = "extern \"C\" __global__ void fill(float* y, float value) { y[threadIdx.x] = value; }";
//! let fill = LoadedKernel::new(&gpu, text, "fill")?;
//! let y = RawBuffer::new(&gpu, 4 * 32, "y")?;
//! let arguments = [LaunchArg::Address(y.address()), LaunchArg::Word(1.5_f32.to_ne_bytes())];
//! // SAFETY: 32 threads write 32 elements of 4 bytes.
//! unsafe { StreamLock::new(&gpu)?.launch(&fill, [1, 1, 1], [32, 1, 1], 0, &arguments) }?;
//! let mut values = [0.0_f32; 32];
//! y.download(&mut values)?;
//! assert_eq!(values, [1.5; 32]);
//! # Ok::<(), spikelet_graph::Error>(())
//! ```

mod device_environment;
mod raw_buffer;

pub use crate::bytes::Plain;
pub use device_environment::DeviceEnvironment;
pub use raw_buffer::RawBuffer;

use crate::backend::Cuda;
use crate::cache;
use crate::compiler::CompileError;
use crate::error::Context;
use crate::launch::{self, Launch};
use crate::library::driver::Function;
use crate::memory::DeviceMemory;
use crate::shared::Shared;
use crate::upload::Uploads;
use spikelet_graph::{Result, Storage};
use std::fmt;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Compiles a kernel for a compute capability, such as `(9, 0)`, or takes it from the cache; no GPU
/// is needed. The result is machine code, or PTX for a GPU that is newer than the compiler.
///
/// # Errors
/// If NVRTC is not installed, or the text does not compile.
pub fn compile(
    source: &str,
    name: &str,
    capability: (i32, i32),
) -> std::result::Result<Arc<[u8]>, CompileError> {
    cache::get_or_compile(source, name, capability)
}

/// A kernel that is loaded on a GPU.
#[derive(Clone)]
pub struct LoadedKernel {
    name: String,
    function: Arc<Function>,
}

impl LoadedKernel {
    /// The function `name` of a source, which is compiled, or taken from the caches.
    ///
    /// A thread that holds a [`StreamLock`] of the same GPU must not call this: it waits for the
    /// lock when many kernels are loaded.
    ///
    /// # Errors
    /// If the text does not compile, has no such function, or cannot be loaded.
    pub fn new(cuda: &Cuda, source: &str, name: &str) -> Result<Self> {
        let function = cuda.shared.gpu.function(source, name)?;
        cuda.shared.unload_unused()?;
        Ok(Self {
            name: name.to_string(),
            function,
        })
    }
}

impl fmt::Debug for LoadedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadedKernel").field(&self.name).finish()
    }
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchArg {
    /// An address in device memory, for a pointer or a reference.
    Address(u64),
    /// A 64-bit integer by value.
    Size(u64),
    /// The bytes of a value of up to 32 bits; a 16-bit parameter reads the first two.
    Word([u8; 4]),
}

/// Exclusive use of a GPU's stream by this thread. Launches run after all earlier work and all uploads.
///
/// While it is held, its thread may allocate memory. It must not call any other function of the same
/// GPU, such as [`RawBuffer::upload`] or [`LoadedKernel::new`]: that would deadlock.
pub struct StreamLock<'a> {
    shared: &'a Shared,
    uploads: MutexGuard<'a, Uploads>,
}

impl<'a> StreamLock<'a> {
    /// Locks the stream; waits while another thread uses it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(cuda: &'a Cuda) -> Result<Self> {
        let uploads = cuda.shared.lock_stream()?;
        Ok(Self {
            shared: &cuda.shared,
            uploads,
        })
    }

    /// Copies values that a launch takes by reference to device memory, and returns their address.
    /// They stay there until the next call of this function on the same GPU.
    ///
    /// # Errors
    /// If there is not enough memory, or the device fails.
    pub fn upload_scalars(&mut self, values: &[u8]) -> Result<u64> {
        let gpu = &self.shared.gpu;
        let kept = &self.shared.scalars;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = match kept.take() {
            Some(memory) if memory.bytes >= values.len() => memory,
            _ => {
                let bytes = values.len().next_power_of_two().max(256);
                Arc::new(DeviceMemory::new(gpu, bytes, "the scalars of a launch")?)
            }
        };
        let memory = kept.insert(memory);
        let owner: Arc<dyn Storage> = memory.clone();
        // The copy runs after the last launch has read its values.
        self.uploads.push(memory.pointer, &owner, values)?;
        self.uploads.flush()?;
        Ok(memory.pointer)
    }

    /// Starts a kernel: a grid of blocks of threads, with bytes of dynamic shared memory for each
    /// block. With `SPIKELET_CUDA_CHECK=1` the kernel is waited for.
    ///
    /// # Safety
    /// There must be one argument for each parameter of the kernel, of its type. The kernel must only
    /// access memory of the same GPU that is not freed before this returns; freeing it later waits for
    /// the kernel.
    ///
    /// # Errors
    /// If the kernel cannot be started.
    pub unsafe fn launch(
        &self,
        kernel: &LoadedKernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &[LaunchArg],
    ) -> Result<()> {
        let gpu = &self.shared.gpu;
        gpu.allow_shared(&kernel.function, shared_bytes)?;
        let mut launch = Launch::new(&kernel.name, kernel.function.clone(), grid, block);
        launch.shared = shared_bytes;
        for argument in arguments {
            match argument {
                LaunchArg::Address(word) | LaunchArg::Size(word) => launch.word(*word),
                LaunchArg::Word(bytes) => launch.bytes(bytes),
            }
        }
        // SAFETY: the caller's promise.
        unsafe { launch.run(gpu, &gpu.stream, |word| word) }?;
        if launch::is_checked() {
            gpu.stream
                .synchronize()
                .with_context(&gpu.name, || format!("running kernel `{}`", kernel.name))?;
        }
        Ok(())
    }
}

impl fmt::Debug for StreamLock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamLock")
            .field(&self.shared.gpu.name)
            .finish()
    }
}
