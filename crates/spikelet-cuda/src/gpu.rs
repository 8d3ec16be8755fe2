//! One GPU: its context, its streams, its properties, and the kernels loaded on it.

mod captures;
pub(crate) mod group;

use crate::cache;
use crate::error::{Context as _, failure};
use crate::library::driver::{Context, Driver, DriverError, Function, Stream};
use crate::library::{self, Library};
use crate::recent::Recent;
use captures::Captures;
use group::Group;
use spikelet_graph::{DeviceId, Result};
use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The properties of a GPU that code generation and scheduling depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Compute capability, such as (9, 0).
    pub capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of the L2 cache.
    pub l2_bytes: usize,
    /// Bytes of device memory.
    pub memory_bytes: usize,
    /// Bytes of shared memory that a block may request.
    pub shared_bytes: usize,
}

/// Large NVIDIA GPUs: compute capability, multiprocessors, MiB of L2 cache, GiB of memory, KiB of shared memory of a
/// block.
///
/// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
const LARGE_GPUS: [((i32, i32), [usize; 4]); 8] = [
    ((7, 0), [80, 6, 16, 96]),       // V100
    ((7, 5), [40, 4, 16, 64]),       // T4
    ((8, 0), [108, 40, 80, 163]),    // A100
    ((8, 6), [84, 6, 48, 99]),       // A40
    ((8, 9), [142, 96, 48, 99]),     // L40S
    ((9, 0), [132, 50, 80, 227]),    // H100
    ((10, 0), [148, 126, 180, 227]), // B200
    ((12, 0), [188, 128, 96, 99]),   // RTX PRO 6000
];

impl Properties {
    /// A large GPU of this compute capability, for offline code generation: the newest of V100, T4,
    /// A100, A40, L40S, H100, B200 and RTX PRO 6000 that is not newer, else the oldest of them.
    ///
    /// ```
    /// use spikelet_cuda::Properties;
    /// assert_eq!(Properties::large((9, 0)).multiprocessors, 132);
    /// ```
    pub fn large(capability: (i32, i32)) -> Self {
        let known = LARGE_GPUS.iter().rev().find(|gpu| gpu.0 <= capability);
        let (_, [multiprocessors, cache, memory, shared]) = *known.unwrap_or(&LARGE_GPUS[0]);
        Self {
            capability,
            multiprocessors,
            l2_bytes: cache << 20,
            memory_bytes: memory << 30,
            shared_bytes: shared << 10,
        }
    }

    /// The large GPUs that are known, for tests.
    #[cfg(test)]
    pub(crate) fn all_large() -> impl Iterator<Item = Self> {
        LARGE_GPUS.iter().map(|gpu| Self::large(gpu.0))
    }

    /// The number of threads that saturates the memory bandwidth.
    pub(crate) fn saturating_threads(&self) -> usize {
        512 * self.multiprocessors
    }
}

/// The most kernels that stay loaded without a plan that holds them.
const MAX_UNUSED_KERNELS: usize = 1024;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`, `…_L2_CACHE_SIZE` and `…_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
const MULTIPROCESSORS: c_int = 16;
const L2_CACHE_SIZE: c_int = 38;
const MAX_SHARED_OPTIN: c_int = 97;

/// A GPU in use by this process.
pub(crate) struct Gpu {
    pub(crate) id: DeviceId,
    pub(crate) name: String,
    /// Its index in the driver's order.
    pub(crate) ordinal: usize,
    pub(crate) properties: Properties,
    pub(crate) context: Arc<Context>,
    /// Kernels run here, in order.
    pub(crate) stream: Arc<Stream>,
    /// Inputs are uploaded here, concurrently with kernels.
    pub(crate) copy_stream: Arc<Stream>,
    /// Copies from other GPUs run here, concurrently with kernels and uploads.
    pub(crate) peer_stream: Arc<Stream>,
    /// Those of all backends of this GPU.
    pub(crate) captures: Captures,
    /// By name and source. Each keeps its module loaded.
    functions: Mutex<Recent<String, Function>>,
    /// Indices of the GPUs to which peer access was requested.
    peers: Mutex<HashSet<usize>>,
    /// The group that it has joined.
    group: Mutex<Option<Arc<Group>>>,
}

/// Starts the driver and retains the context of a GPU, which is not made current.
pub(crate) fn open_context(name: &str, ordinal: usize) -> Result<Arc<Context>> {
    let driver = start_driver(name)?;
    let count = driver.count().context(name, "counting GPUs")?;
    if ordinal >= count {
        let problem = format!("no such GPU; this machine has {count}, listed by `spikelet doctor`");
        return Err(failure(name, problem));
    }
    Context::new(driver, ordinal).context(name, "opening the GPU")
}

/// Loads and starts the driver.
pub(crate) fn start_driver(name: &str) -> Result<&'static Driver> {
    let driver = Driver::get().map_err(|missing| failure(name, missing.to_string()))?;
    driver.start().context(name, "starting the driver")?;
    Ok(driver)
}

impl Gpu {
    pub(crate) fn open(ordinal: usize) -> Result<Self> {
        let name = format!("cuda:{ordinal}");
        let context = open_context(&name, ordinal)?;
        library::find(Library::Nvrtc).map_err(|missing| failure(&name, missing.to_string()))?;
        context.bind().context(&name, "setting the context")?;
        let device = context.device;
        let attribute = |which| {
            let value = device.attribute(which);
            Ok(value.context(&name, "querying properties")? as usize)
        };
        let properties = Properties {
            capability: device
                .capability()
                .context(&name, "querying the compute capability")?,
            multiprocessors: attribute(MULTIPROCESSORS)?,
            l2_bytes: attribute(L2_CACHE_SIZE)?,
            memory_bytes: device.memory().context(&name, "querying the memory")?,
            shared_bytes: attribute(MAX_SHARED_OPTIN)?,
        };
        Ok(Self {
            id: DeviceId::unique(),
            stream: context.new_stream().context(&name, "creating a stream")?,
            copy_stream: context.new_stream().context(&name, "creating a stream")?,
            peer_stream: context.new_stream().context(&name, "creating a stream")?,
            captures: Captures::of(ordinal),
            name,
            ordinal,
            properties,
            context,
            functions: Mutex::new(Recent::new(MAX_UNUSED_KERNELS)),
            peers: Mutex::default(),
            group: Mutex::default(),
        })
    }

    /// Makes the GPU's context current in this thread.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context
            .bind()
            .context(&self.name, "setting the context")
    }

    /// Whether peer access to the GPU with this index was requested before; marks it as requested.
    pub(crate) fn request_peer_access(&self, ordinal: usize) -> bool {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        !peers.insert(ordinal)
    }

    fn functions(&self) -> MutexGuard<'_, Recent<String, Function>> {
        self.functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The function `name` of a source, compiled or from the caches.
    pub(crate) fn function(&self, source: &str, name: &str) -> Result<Arc<Function>> {
        // A source may have several functions.
        let key = format!("{name}\n{source}");
        if let Some(known) = self.functions().get(&key) {
            return Ok(known);
        }
        let code = cache::get_or_compile(source, name, self.properties.capability)
            .map_err(|error| failure(&self.name, error.to_string()))?;
        // SAFETY: NVRTC's result, a cubin or null-terminated PTX.
        let module = unsafe { self.context.load_module(&code) }
            .context(&self.name, &format!("loading kernel `{name}`"))?;
        let function = module.function(name).map_err(|error| match error {
            DriverError::NOT_FOUND => failure(
                &self.name,
                format!(
                    "the source of kernel `{name}` defines no function of this name; write \
                     `extern \"C\" __global__ void {name}(…)`"
                ),
            ),
            _ => failure(&self.name, format!("loading kernel `{name}`: {error}")),
        })?;
        Ok(self.functions().insert(key, function))
    }

    /// Unloads the least recently used kernels that no plan holds, if there are many. The caller has
    /// locked the stream.
    pub(crate) fn unload_unused(&self) -> Result<()> {
        let mut functions = self.functions();
        if !functions.is_full() {
            return Ok(());
        }
        // A dropped plan may have left some of them running.
        self.stream
            .synchronize()
            .context(&self.name, "waiting for the GPU")?;
        drop(functions.take_unused());
        Ok(())
    }

    /// Whether [`Gpu::unload_unused`] has work.
    pub(crate) fn is_full(&self) -> bool {
        self.functions().is_full()
    }

    /// Lets a kernel use more than 48 KiB of shared memory.
    pub(crate) fn allow_shared(&self, function: &Function, bytes: u32) -> Result<()> {
        if bytes <= 48 * 1024 {
            return Ok(());
        }
        let what = format!("requesting {bytes} bytes of shared memory");
        // Another launch of the same function may have asked for more.
        let _lock = self.functions();
        let allowed = function.max_shared().context(&self.name, &what)?;
        if i64::from(allowed) >= i64::from(bytes) {
            return Ok(());
        }
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        function.set_max_shared(bytes).context(&self.name, &what)
    }

    /// Waits for all work on the stream. An error if the group was aborted.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.stream
            .synchronize()
            .context(&self.name, "waiting for the GPU")?;
        self.check_group()
    }

    fn group_slot(&self) -> MutexGuard<'_, Option<Arc<Group>>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The GPU's group.
    pub(crate) fn group(&self) -> Option<Arc<Group>> {
        self.group_slot().clone()
    }

    /// Sets the GPU's group; false if it already has one.
    pub(crate) fn set_group(&self, group: Group) -> bool {
        let mut slot = self.group_slot();
        let free = slot.is_none();
        if free {
            *slot = Some(Arc::new(group));
        }
        free
    }

    /// Checks the GPU's group, if it has one.
    pub(crate) fn check_group(&self) -> Result<()> {
        self.group().map_or(Ok(()), |group| group.check())
    }
}
