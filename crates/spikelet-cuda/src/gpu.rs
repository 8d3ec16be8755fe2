//! One GPU: its context, its streams, its properties, and the kernels loaded on it.

use crate::cache;
use crate::error::{Doing, describe, failure};
use crate::group::Group;
use crate::library::{self, Library};
use crate::recent::Recent;
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream};
use cudarc::nvrtc::Ptx;
use spikelet_graph::{DeviceId, Result};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What code generation and scheduling need to know of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Compute capability, such as (9, 0).
    pub capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of the second-level cache.
    pub l2_bytes: usize,
    /// Bytes of device memory.
    pub memory_bytes: usize,
}

/// Large GPUs of NVIDIA's: compute capability, multiprocessors, MiB of cache, GiB of memory.
const LARGE: [((i32, i32), usize, usize, usize); 8] = [
    ((7, 0), 80, 6, 16),      // V100
    ((7, 5), 40, 4, 16),      // T4
    ((8, 0), 108, 40, 80),    // A100
    ((8, 6), 84, 6, 48),      // A40
    ((8, 9), 142, 96, 48),    // L40S
    ((9, 0), 132, 50, 80),    // H100
    ((10, 0), 148, 126, 180), // B200
    ((12, 0), 188, 128, 96),  // RTX PRO 6000
];

impl Properties {
    /// A large GPU of this compute capability, for texts that are written where there is none: the
    /// newest of V100, T4, A100, A40, L40S, H100, B200 and RTX PRO 6000 that is not newer, else the
    /// oldest of them.
    ///
    /// ```
    /// use spikelet_cuda::Properties;
    /// assert_eq!(Properties::large((9, 0)).multiprocessors, 132);
    /// ```
    pub fn large(capability: (i32, i32)) -> Self {
        let known = LARGE.iter().rev().find(|gpu| gpu.0 <= capability);
        let (_, multiprocessors, cache, memory) = *known.unwrap_or(&LARGE[0]);
        Self {
            capability,
            multiprocessors,
            l2_bytes: cache << 20,
            memory_bytes: memory << 30,
        }
    }

    /// Threads that keep the memory busy: fewer leave part of the GPU idle.
    pub(crate) fn saturating_threads(&self) -> usize {
        512 * self.multiprocessors
    }
}

/// Kernels that stay loaded although no plan holds them, at most.
const KEPT_KERNELS: usize = 1024;

/// A GPU in use by this process.
pub(crate) struct Gpu {
    pub(crate) id: DeviceId,
    pub(crate) name: String,
    /// Its number, as the driver counts.
    pub(crate) ordinal: usize,
    pub(crate) properties: Properties,
    pub(crate) context: Arc<CudaContext>,
    /// Kernels run here, in order.
    pub(crate) stream: Arc<CudaStream>,
    /// Batches come up here, beside the kernels.
    pub(crate) copy_stream: Arc<CudaStream>,
    /// What other GPUs send arrives here, beside kernels and batches.
    pub(crate) arrivals: Arc<CudaStream>,
    /// By name and source. Each keeps its module loaded.
    functions: Mutex<Recent<String, CudaFunction>>,
    /// Numbers of the GPUs whose memory this one was asked to reach.
    peers: Mutex<HashSet<usize>>,
    /// The group that it has joined.
    group: Mutex<Option<Arc<Group>>>,
}

impl Gpu {
    pub(crate) fn open(ordinal: usize) -> Result<Self> {
        let name = format!("cuda:{ordinal}");
        for needed in [Library::Driver, Library::Nvrtc] {
            library::find(needed).map_err(|missing| failure(&name, missing.to_string()))?;
        }
        let count = CudaContext::device_count().doing(&name, "counting GPUs")?;
        if ordinal >= count.max(0) as usize {
            return Err(failure(
                &name,
                format!(
                    "there is no such GPU, this machine has {count}; `spikelet doctor` lists them"
                ),
            ));
        }
        let context = CudaContext::new(ordinal).doing(&name, "opening the GPU")?;
        // SAFETY: every transfer and launch is ordered by this crate on streams of its own.
        unsafe { context.disable_event_tracking() };
        let attribute = |which| {
            context
                .attribute(which)
                .doing(&name, "asking for properties")
        };
        use CUdevice_attribute as Ask;
        let properties = Properties {
            capability: context
                .compute_capability()
                .doing(&name, "asking for the compute capability")?,
            multiprocessors: attribute(Ask::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
            l2_bytes: attribute(Ask::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
            memory_bytes: context.total_mem().doing(&name, "asking for the memory")?,
        };
        Ok(Self {
            id: DeviceId::unique(),
            stream: context.new_stream().doing(&name, "making a stream")?,
            copy_stream: context.new_stream().doing(&name, "making a stream")?,
            arrivals: context.new_stream().doing(&name, "making a stream")?,
            name,
            ordinal,
            properties,
            context,
            functions: Mutex::new(Recent::new(KEPT_KERNELS)),
            peers: Mutex::default(),
            group: Mutex::default(),
        })
    }

    /// Lets this thread use the GPU.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context
            .bind_to_thread()
            .doing(&self.name, "using the GPU")
    }

    /// Whether this was asked before of the GPU of this number; from now on it was.
    pub(crate) fn reaches(&self, ordinal: usize) -> bool {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        !peers.insert(ordinal)
    }

    fn functions(&self) -> MutexGuard<'_, Recent<String, CudaFunction>> {
        self.functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The function `name` of a source, compiled or from the caches.
    pub(crate) fn function(&self, source: &str, name: &str) -> Result<Arc<CudaFunction>> {
        // One source may have several functions.
        let key = format!("{name}\n{source}");
        if let Some(known) = self.functions().get(&key) {
            return Ok(known);
        }
        let code = cache::get_or_compile(source, name, self.properties.capability)
            .map_err(|error| failure(&self.name, error.to_string()))?;
        let module = self
            .context
            .load_module(Ptx::from_binary(code.to_vec()))
            .doing(&self.name, &format!("loading kernel `{name}`"))?;
        let function = module.load_function(name).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => failure(
                &self.name,
                format!(
                    "the source of kernel `{name}` defines no function of this name; write \
                     `extern \"C\" __global__ void {name}(…)`"
                ),
            ),
            _ => failure(
                &self.name,
                format!("loading kernel `{name}`: {}", describe(&error)),
            ),
        })?;
        Ok(self.functions().insert(key, function))
    }

    /// Unloads kernels that nothing holds and nobody asked for lately, if there are many. Whoever
    /// calls this has the stream for itself.
    pub(crate) fn unload_unused(&self) -> Result<()> {
        let mut functions = self.functions();
        if !functions.is_full() {
            return Ok(());
        }
        // A plan that is gone may have left some of them running.
        self.stream
            .synchronize()
            .doing(&self.name, "waiting for the GPU")?;
        drop(functions.take_unused());
        Ok(())
    }

    /// Whether there is something for [`Gpu::unload_unused`].
    pub(crate) fn is_full(&self) -> bool {
        self.functions().is_full()
    }

    /// Lets a kernel use more than 48 KiB of shared memory.
    pub(crate) fn allow_shared(&self, function: &CudaFunction, bytes: u32) -> Result<()> {
        if bytes <= 48 * 1024 {
            return Ok(());
        }
        use CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MOST;
        let what = format!("asking for {bytes} bytes of shared memory");
        // Another launch of the same function may have asked for more.
        let _alone = self.functions();
        let allowed = function.get_attribute(MOST).doing(&self.name, &what)?;
        if i64::from(allowed) >= i64::from(bytes) {
            return Ok(());
        }
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        function.set_attribute(MOST, bytes).doing(&self.name, &what)
    }

    /// Waits for what was started. What a group that was given up has left undone is an error.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.stream
            .synchronize()
            .doing(&self.name, "waiting for the GPU")?;
        self.check_group()
    }

    fn group_slot(&self) -> MutexGuard<'_, Option<Arc<Group>>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group that the GPU is in.
    pub(crate) fn group(&self) -> Option<Arc<Group>> {
        self.group_slot().clone()
    }

    /// The group that the GPU is in from now on; false if it is in one already.
    pub(crate) fn set_group(&self, group: Group) -> bool {
        let mut slot = self.group_slot();
        let free = slot.is_none();
        if free {
            *slot = Some(Arc::new(group));
        }
        free
    }

    /// Whether the group that the GPU is in, if it is, is still whole.
    pub(crate) fn check_group(&self) -> Result<()> {
        self.group().map_or(Ok(()), |group| group.check())
    }
}
