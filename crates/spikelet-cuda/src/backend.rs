//! A GPU as a backend.

use crate::bytes;
use crate::dnn::{Convolution, Dnn};
use crate::error::{Doing, failure};
use crate::executor::{self, CudaExecutor};
use crate::fetch::{self, Pool};
use crate::gemm::{Gemm, Product};
use crate::gpu::{Gpu, Properties};
use crate::group::{self, Group};
use crate::memory::{DeviceMemory, download_async, upload_async};
use crate::op::{self, LibraryWorkspaces};
use crate::transfer;
use crate::upload::Uploads;
use spikelet_graph::op::{HostTensor, HostTensorMut};
use spikelet_graph::{
    Backend, Bound, Buffer, DType, DeviceKind, DeviceTransfer, Event, Executor, Graph, HostFuture,
    Memory, Node, Plan, ProcessGroup, Result, Storage, Target, TensorType, ValueId,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Inputs larger than this do not go through the pinned slabs.
const DIRECT: usize = 32 << 20;

/// An NVIDIA GPU.
///
/// ```no_run
/// use spikelet_cuda::Cuda;
/// use spikelet_graph::{Backend, DType, TensorType, op::{HostTensor, HostTensorMut}};
/// let gpu = Cuda::new(0)?;
/// let buffer = gpu.allocate(&TensorType::new(DType::F32, [3]))?;
/// gpu.upload(&buffer, HostTensor::F32(&[1.0, 2.0, 3.0]))?;
/// let mut back = [0.0; 3];
/// gpu.download(&buffer, HostTensorMut::F32(&mut back))?;
/// assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
#[derive(Clone)]
pub struct Cuda {
    pub(crate) shared: Arc<Shared>,
}

/// What a backend and its executors have in common.
pub(crate) struct Shared {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) gemm: Gemm,
    pub(crate) dnn: Dnn,
    uploads: Mutex<Uploads>,
    pool: Pool,
    /// Where the values go that a launch takes by reference, once there was one.
    pub(crate) scalars: Mutex<Option<Arc<DeviceMemory>>>,
}

impl Shared {
    /// What waits to go up; whoever starts work on the stream holds this, for another may be
    /// recording what the stream is given.
    fn uploads(&self) -> MutexGuard<'_, Uploads> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream, for this thread alone, with everything that waited to go up on its way.
    pub(crate) fn stream_alone(&self) -> Result<MutexGuard<'_, Uploads>> {
        self.gpu.bind()?;
        let mut uploads = self.uploads();
        uploads.flush()?;
        Ok(uploads)
    }

    /// Unloads kernels of plans that are gone, if there are many.
    pub(crate) fn unload_unused(&self) -> Result<()> {
        if !self.gpu.is_full() {
            return Ok(());
        }
        let _alone = self.stream_alone()?;
        self.gpu.unload_unused()
    }

    /// Drops plans of products and convolutions that no executor holds, if there are many.
    pub(crate) fn forget_unused_plans(&self) -> Result<()> {
        if !self.gemm.plans.is_full() && !self.dnn.plans.is_full() {
            return Ok(());
        }
        let _alone = self.stream_alone()?;
        // An executor that is gone may have left some of them running.
        self.gpu.synchronize()?;
        self.gemm.plans.forget_unused();
        self.dnn.plans.forget_unused();
        Ok(())
    }

    /// Copies values to the memory of `owner` at `to`, in order with the runs that follow.
    ///
    /// # Safety
    /// There must be room for them.
    pub(crate) unsafe fn upload(
        &self,
        to: u64,
        owner: &Arc<dyn Storage>,
        values: &[u8],
    ) -> Result<()> {
        if values.len() <= DIRECT {
            return self.uploads().push(to, owner, values);
        }
        let _alone = self.stream_alone()?;
        // SAFETY: the caller's promise; the copy is waited for while the values are borrowed.
        unsafe { upload_async(to, values, &self.gpu.stream) }
            .doing(&self.gpu.name, "copying to the GPU")?;
        self.gpu.synchronize()
    }

    /// Copies what is at `from` to the host when all runs before are over.
    ///
    /// # Safety
    /// There must be as many bytes.
    pub(crate) unsafe fn download(&self, from: u64, values: &mut [u8]) -> Result<()> {
        let _alone = self.stream_alone()?;
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's promise; the copy is waited for while the values are borrowed.
        unsafe { download_async(values, from, &self.gpu.stream) }
            .doing(&self.gpu.name, "copying from the GPU")?;
        self.gpu.synchronize()
    }
}

impl LibraryWorkspaces for Shared {
    fn of_product(&self, product: Product) -> usize {
        self.gemm.workspace(product)
    }

    fn of_convolution(&self, convolution: &Convolution) -> usize {
        self.dnn.workspace(convolution)
    }
}

impl Cuda {
    /// GPU number `ordinal`, counted from 0 as the driver counts them.
    ///
    /// # Errors
    /// When there is no such GPU, or the driver or NVRTC cannot be loaded; the error says what
    /// brings them.
    pub fn new(ordinal: usize) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(ordinal)?);
        Ok(Self {
            shared: Arc::new(Shared {
                gemm: Gemm::new(gpu.clone()),
                dnn: Dnn::new(gpu.clone()),
                uploads: Mutex::new(Uploads::new(gpu.clone())),
                pool: Pool::default(),
                scalars: Mutex::default(),
                gpu,
            }),
        })
    }

    /// Makes the GPU a rank of a group of GPUs, by NCCL: plans that are loaded from now on add up
    /// over its ranks ([`spikelet_graph::op::AllReduceStart`]). All ranks must call this together, each
    /// with a GPU of its own; `exchange` is only used to find each other. Ranks that are not there
    /// are waited for a minute.
    ///
    /// The first two runs of a plan connect the ranks, and wait as long for each other: let the
    /// ranks meet ([`ProcessGroup::barrier`]) when all have loaded it.
    ///
    /// ```no_run
    /// use spikelet_cuda::Cuda;
    /// use spikelet_graph::ThreadProcessGroup;
    /// use std::sync::Arc;
    /// let only = ThreadProcessGroup::group(1).remove(0);
    /// let gpu = Cuda::new(0)?;
    /// gpu.join_group(Arc::new(only))?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// When NCCL is missing here (the error says what brings it) or on another rank, a rank does
    /// not answer in time, two ranks have one GPU, or this GPU is in a group already.
    pub fn join_group(&self, exchange: Arc<dyn ProcessGroup>) -> Result<()> {
        self.join_group_within(exchange, group::TIMEOUT)
    }

    /// As [`Cuda::join_group`], with another time to wait for ranks, here and whenever something
    /// is about to be added up.
    ///
    /// # Errors
    /// As [`Cuda::join_group`].
    pub fn join_group_within(
        &self,
        exchange: Arc<dyn ProcessGroup>,
        patience: Duration,
    ) -> Result<()> {
        let gpu = &self.shared.gpu;
        let already = || {
            failure(
                &gpu.name,
                "the GPU is in a group already; a GPU is one rank of one group",
            )
        };
        if gpu.group().is_some() {
            return Err(already());
        }
        let group = Group::join(gpu, &*exchange, patience)?;
        match gpu.set_group(group) {
            true => Ok(()),
            false => Err(already()),
        }
    }

    /// Gives up the group that the GPU is in, if it is in one: for whoever learns that a rank is
    /// gone, from any thread. Kernels that wait for that rank end; what the running step computes
    /// is void, and every later call that runs something or waits for it says so.
    pub fn abort_group(&self) {
        if let Some(group) = self.shared.gpu.group() {
            group.give_up();
        }
    }

    /// The number of the GPU, counted from 0 as the driver counts them.
    pub fn ordinal(&self) -> usize {
        self.shared.gpu.ordinal
    }

    /// What the GPU is.
    pub fn properties(&self) -> Properties {
        self.shared.gpu.properties
    }

    /// The vendor's name of the GPU, such as `NVIDIA H200`.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn model(&self) -> Result<String> {
        let gpu = &self.shared.gpu;
        gpu.context.name().doing(&gpu.name, "asking for the name")
    }

    fn memory_of<'a>(&self, buffer: &'a Buffer) -> Result<&'a DeviceMemory> {
        memory_of(&self.shared.gpu, buffer)
    }

    fn check(&self, ty: &TensorType, dtype: DType, bytes: usize) -> Result<()> {
        if ty.dtype == dtype && ty.bytes() == bytes {
            return Ok(());
        }
        Err(failure(
            &self.shared.gpu.name,
            format!(
                "a buffer of {ty} ({} bytes) cannot exchange {bytes} bytes of {dtype}; use its own type and size",
                ty.bytes()
            ),
        ))
    }
}

/// The memory behind a buffer of this GPU.
pub(crate) fn memory_of<'a>(gpu: &Gpu, buffer: &'a Buffer) -> Result<&'a DeviceMemory> {
    buffer.storage(gpu.id, &gpu.name)
}

impl Target for Cuda {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        let shared = &*self.shared;
        op::workspace(shared, &shared.gpu.properties, graph, node)
    }

    fn reads_bits(&self, graph: &Graph, node: &Node, operand: usize) -> bool {
        op::reads_bits(&self.shared.gpu.properties, graph, node, operand)
    }

    fn writes_bits(&self, graph: &Graph, node: &Node, value: ValueId) -> bool {
        op::writes_bits(graph, node, value)
    }

    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        op::sums_channels(graph, node)
    }

    fn overwrites_sequences(&self) -> bool {
        op::OVERWRITES_SEQUENCES
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        op::scan_checkpoint(&self.shared.gpu.properties, graph, node)
    }

    fn check_node(&self, graph: &Graph, node: &Node) -> Result<()> {
        let gpu = &self.shared.gpu;
        op::check(&gpu.name, &gpu.properties, graph, node)
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.shared.gpu.name.clone()
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.properties().memory_bytes)
    }

    fn memory(&self) -> Option<Memory> {
        self.shared.gpu.bind().ok()?;
        let (available, total) = self.shared.gpu.context.mem_get_info().ok()?;
        Some(Memory { total, available })
    }

    fn allocate(&self, ty: &TensorType) -> Result<Buffer> {
        ty.check("allocate")?;
        let memory = DeviceMemory::new(&self.shared.gpu, ty.bytes(), &format!("a tensor of {ty}"))?;
        let _alone = self.shared.uploads();
        memory.clear()?;
        Ok(Buffer {
            ty: ty.clone(),
            handle: Arc::new(memory),
        })
    }

    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()> {
        let memory = self.memory_of(to)?;
        let (dtype, values) = bytes::of(&values);
        self.check(&to.ty, dtype, values.len())?;
        // SAFETY: sizes were compared.
        unsafe { self.shared.upload(memory.pointer, &to.handle, values) }
    }

    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()> {
        let memory = self.memory_of(from)?;
        let (dtype, values) = bytes::of_mut(values);
        self.check(&from.ty, dtype, values.len())?;
        // SAFETY: sizes were compared.
        unsafe { self.shared.download(memory.pointer, values) }
    }

    fn fetch(&self, from: &[&Buffer]) -> Result<Box<dyn HostFuture>> {
        let _alone = self.shared.stream_alone()?;
        fetch::start(&self.shared.gpu, &self.shared.pool, from)
    }

    fn synchronize(&self) -> Result<()> {
        let _alone = self.shared.stream_alone()?;
        self.shared.gpu.synchronize()
    }

    fn moment(&self) -> Result<Arc<dyn Event>> {
        let _alone = self.shared.stream_alone()?;
        Ok(Arc::new(transfer::Reached::now(&self.shared.gpu)?))
    }

    fn wait_for(&self, moment: &dyn Event) -> Result<()> {
        let _alone = self.shared.stream_alone()?;
        transfer::wait_for(&self.shared.gpu, &self.shared.gpu.stream, moment)
    }

    fn send(&self, from: &Buffer) -> Result<Arc<dyn DeviceTransfer>> {
        self.memory_of(from)?;
        let _alone = self.shared.stream_alone()?;
        Ok(Arc::new(transfer::OnGpu::new(self, from)?))
    }

    fn receive(
        &self,
        to: &Buffer,
        parcel: &dyn DeviceTransfer,
        free: Option<&dyn Event>,
    ) -> Result<Arc<dyn Event>> {
        self.memory_of(to)?;
        match parcel.as_any().downcast_ref::<transfer::OnGpu>() {
            Some(parcel) => {
                let _alone = self.shared.stream_alone()?;
                transfer::receive(&self.shared.gpu, to, parcel, free)
            }
            None => {
                self.upload(to, (&*parcel.on_host()?).into())?;
                self.moment()
            }
        }
    }

    fn arena(&self, plan: &Plan) -> Result<Buffer> {
        executor::arena(&self.shared.gpu, plan)
    }

    fn load_into(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>> {
        let bound = Bound {
            inputs,
            outputs,
            arena,
        };
        plan.check()?;
        plan.check_target(self)?;
        let gpu = &self.shared.gpu;
        plan.check_buffers(&bound, gpu.id, &gpu.name)?;
        Ok(Box::new(CudaExecutor::new(
            self.shared.clone(),
            plan,
            bound,
        )?))
    }
}
