//! A kernel with its arguments, ready to be launched.

use crate::error::Doing;
use crate::gpu::Gpu;
use cudarc::driver::{CudaFunction, result};
use spikelet_graph::Result;
use std::ffi::c_void;

/// Whether kernels run one by one, each waited for, so that the one that fails is named.
pub(crate) fn is_checked() -> bool {
    std::env::var_os("SPIKELET_CUDA_CHECK").is_some_and(|v| !v.is_empty() && v != "0")
}

/// One launch. All arguments are 64-bit words: addresses and sizes.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) name: String,
    pub(crate) function: CudaFunction,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) words: Vec<u64>,
}

impl Launch {
    pub(crate) fn new(name: &str, function: CudaFunction, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            name: name.to_string(),
            function,
            grid,
            block,
            shared: 0,
            words: vec![],
        }
    }

    /// Starts the kernel on the GPU's stream.
    ///
    /// # Safety
    /// The words must be the arguments that the kernel expects, and lead to memory that is large
    /// enough and alive until the kernel has run.
    pub(crate) unsafe fn run(&self, gpu: &Gpu) -> Result<()> {
        let mut arguments: Vec<*mut c_void> = self
            .words
            .iter()
            .map(|word| std::ptr::from_ref(word).cast_mut().cast())
            .collect();
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                self.grid.into(),
                self.block.into(),
                self.shared,
                gpu.stream.cu_stream(),
                &mut arguments,
            )
        }
        .doing(&gpu.name, &format!("starting kernel `{}`", self.name))
    }
}
