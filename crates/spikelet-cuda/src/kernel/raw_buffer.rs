//! Device memory without a type.

use crate::backend::Cuda;
use crate::bytes::{Plain, raw, raw_mut};
use crate::error::failure;
use crate::memory::DeviceMemory;
use spikelet_graph::{Result, Storage};
use std::fmt;
use std::sync::Arc;

/// Device memory without a type, freed when its last clone is dropped. Freeing waits for kernels
/// that may still use it.
#[derive(Clone)]
pub struct RawBuffer {
    cuda: Cuda,
    memory: Arc<DeviceMemory>,
}

impl RawBuffer {
    /// Allocates memory with undefined content. `what` names its purpose in an out-of-memory error.
    ///
    /// # Errors
    /// If there is not enough memory, or the device fails.
    pub fn new(cuda: &Cuda, bytes: usize, what: &str) -> Result<Self> {
        let memory = DeviceMemory::new(&cuda.shared.gpu, bytes, what)?;
        Ok(Self {
            cuda: cuda.clone(),
            memory: Arc::new(memory),
        })
    }

    /// Sets all bytes to zero, in order with the kernels.
    ///
    /// # Errors
    /// If the device fails.
    pub fn clear(&self) -> Result<()> {
        let _lock = self.cuda.shared.lock_stream()?;
        self.memory.clear()
    }

    /// Copies values to the start of the memory, in order with the kernels that follow.
    ///
    /// # Errors
    /// If there are more values than fit, or the device fails.
    pub fn upload<T: Plain>(&self, values: &[T]) -> Result<()> {
        let values = raw(values);
        self.check(values.len())?;
        let owner: Arc<dyn Storage> = self.memory.clone();
        // SAFETY: sizes were compared.
        unsafe { self.cuda.shared.upload(self.memory.pointer, &owner, values) }
    }

    /// Copies values from the start of the memory after all kernels that were started.
    ///
    /// # Errors
    /// If there are more values than the memory has, or the device fails.
    pub fn download<T: Plain>(&self, values: &mut [T]) -> Result<()> {
        let values = raw_mut(values);
        self.check(values.len())?;
        // SAFETY: sizes were compared.
        unsafe { self.cuda.shared.download(self.memory.pointer, values) }
    }

    /// The address in device memory.
    pub fn address(&self) -> u64 {
        self.memory.pointer
    }

    /// The size.
    pub fn bytes(&self) -> usize {
        self.memory.bytes
    }

    /// The GPU that the memory was allocated with.
    pub fn cuda(&self) -> &Cuda {
        &self.cuda
    }

    /// Whether the memory was allocated with this GPU or a clone of it. Two [`Cuda`]s that were
    /// opened separately have separate streams, even if they are the same device.
    pub fn is_on(&self, cuda: &Cuda) -> bool {
        self.memory.is_on(&cuda.shared.gpu)
    }

    fn check(&self, bytes: usize) -> Result<()> {
        if bytes <= self.memory.bytes {
            return Ok(());
        }
        let problem = format!(
            "{bytes} bytes were to be copied to or from a buffer of {}; copy at most the size of the buffer",
            self.memory.bytes
        );
        Err(failure(&self.cuda.shared.gpu.name, problem))
    }
}

impl fmt::Debug for RawBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.cuda.shared.gpu.name;
        write!(f, "{} bytes on {device}", self.memory.bytes)
    }
}
