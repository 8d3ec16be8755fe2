//! The state of a GPU that its backend and its executors share.

use crate::dnn::Dnn;
use crate::error::Context;
use crate::fetch::Pool;
use crate::gemm::Gemm;
use crate::gpu::Gpu;
use crate::memory::DeviceMemory;
use crate::upload::Uploads;
use crate::while_nodes::WhileNodes;
use spikelet_graph::{Result, Storage};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The most bytes of an input that is staged in the pinned slabs.
const DIRECT: usize = 32 << 20;

/// The state shared by a backend and its executors.
pub(crate) struct Shared {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) gemm: Gemm,
    pub(crate) dnn: Dnn,
    pub(crate) uploads: Mutex<Uploads>,
    pub(crate) pool: Pool,
    /// Device memory of the values that a launch takes by reference, allocated on first use.
    pub(crate) scalars: Mutex<Option<Arc<DeviceMemory>>>,
    /// Loops in CUDA graphs, if the GPU has them; looked for when a loop is first recorded.
    pub(crate) while_nodes: OnceLock<Option<WhileNodes>>,
}

impl Shared {
    /// Loops in CUDA graphs; `None` if this driver or this GPU has none. The GPU's context must be current and
    /// none of this thread's streams captured.
    pub(crate) fn while_nodes(&self) -> Option<&WhileNodes> {
        let open = || {
            WhileNodes::new(&self.gpu)
                .inspect_err(|error| {
                    tracing::debug!("loops are recorded step by step: {error}");
                })
                .ok()
        };
        self.while_nodes.get_or_init(open).as_ref()
    }

    /// Pending uploads. Held while work is enqueued on the stream, since another thread may be
    /// capturing the stream.
    pub(crate) fn uploads(&self) -> MutexGuard<'_, Uploads> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the stream for this thread, with all pending uploads enqueued.
    pub(crate) fn lock_stream(&self) -> Result<MutexGuard<'_, Uploads>> {
        self.gpu.bind()?;
        let mut uploads = self.uploads();
        uploads.flush()?;
        Ok(uploads)
    }

    /// Unloads kernels of dropped plans, if there are many.
    pub(crate) fn unload_unused(&self) -> Result<()> {
        if !self.gpu.is_full() {
            return Ok(());
        }
        let _lock = self.lock_stream()?;
        self.gpu.unload_unused()
    }

    /// Drops library plans that no executor holds, if there are many.
    pub(crate) fn forget_unused_plans(&self) -> Result<()> {
        if !self.gemm.plans.is_full() && !self.dnn.plans.is_full() {
            return Ok(());
        }
        let _lock = self.lock_stream()?;
        // A dropped executor may have left some of them running.
        self.gpu.synchronize()?;
        self.gemm.plans.forget_unused();
        self.dnn.plans.forget_unused();
        Ok(())
    }

    /// Copies values to the memory of `owner` at `to`, in order with the runs that follow.
    ///
    /// # Safety
    /// The memory must have at least their size.
    pub(crate) unsafe fn upload(
        &self,
        to: u64,
        owner: &Arc<dyn Storage>,
        values: &[u8],
    ) -> Result<()> {
        if values.len() <= DIRECT {
            return self.uploads().push(to, owner, values);
        }
        let _lock = self.lock_stream()?;
        // SAFETY: the caller's promise; the copy is waited for while the values are borrowed.
        unsafe { self.gpu.stream.upload(to, values) }
            .context(&self.gpu.name, "copying to the GPU")?;
        self.gpu.synchronize()
    }

    /// Copies device memory at `from` to the host after all previous runs.
    ///
    /// # Safety
    /// The memory must have at least that many bytes.
    pub(crate) unsafe fn download(&self, from: u64, values: &mut [u8]) -> Result<()> {
        let _lock = self.lock_stream()?;
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's promise; the copy is waited for while the values are borrowed.
        unsafe { self.gpu.stream.download(values, from) }
            .context(&self.gpu.name, "copying from the GPU")?;
        self.gpu.synchronize()
    }
}
