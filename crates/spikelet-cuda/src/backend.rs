//! A GPU as a backend.

use crate::bytes;
use crate::dnn::{Convolution, Dnn};
use crate::error::{Context, failure};
use crate::executor::{self, CallablePlan, CudaExecutor};
use crate::fetch::{self, Pool};
use crate::gemm::{Gemm, Product};
use crate::gpu::group::{self, Group};
use crate::gpu::{Gpu, Properties};
use crate::memory::{DeviceMemory, memory_of};
use crate::op::Device;
use crate::shared::Shared;
use crate::target::target_of_device;
use crate::transfer;
use crate::upload::Uploads;
use spikelet_graph::op::{HostTensor, HostTensorMut};
use spikelet_graph::{
    Backend, Bound, Buffer, DType, Determinism, DeviceKind, DeviceTransfer, Event, Executor,
    HostFuture, Memory, Plan, ProcessGroup, Result, TensorType,
};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

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

impl Device for Shared {
    fn name(&self) -> &str {
        &self.gpu.name
    }

    fn properties(&self) -> &Properties {
        &self.gpu.properties
    }

    fn product_workspace(&self, product: Product) -> usize {
        self.gemm.workspace(product)
    }

    fn convolution_workspace(&self, convolution: &Convolution) -> usize {
        self.dnn.workspace(convolution)
    }

    fn convolution_on_tensor_cores(&self, convolution: &Convolution) -> bool {
        self.dnn.is_on_tensor_cores(convolution)
    }
}

impl Cuda {
    /// The same bits in every run; another model of GPU, or another version of a library, may sum in
    /// another order.
    pub const DETERMINISM: Determinism = Determinism::BITWISE_BUT_SUMS;

    /// The GPU with this index, from 0, in the driver's order.
    ///
    /// # Errors
    /// If there is no such GPU, or the driver or NVRTC cannot be loaded; the error says how to install
    /// them.
    pub fn new(ordinal: usize) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(ordinal)?);
        Ok(Self {
            shared: Arc::new(Shared {
                gemm: Gemm::new(gpu.clone()),
                dnn: Dnn::new(gpu.clone()),
                uploads: Mutex::new(Uploads::new(gpu.clone())),
                pool: Pool::default(),
                scalars: Mutex::default(),
                while_nodes: OnceLock::new(),
                gpu,
            }),
        })
    }

    /// Makes the GPU a rank of an NCCL group: plans that are loaded from now on all-reduce over its
    /// ranks ([`spikelet_graph::op::AllReduceStart`]). All ranks must call this at the same time, each
    /// with a different GPU; `exchange` is only used for the rendezvous. The timeout is one minute.
    ///
    /// The first two runs of a plan connect the ranks, with the same timeout: synchronize the ranks
    /// ([`ProcessGroup::barrier`]) after all have loaded it.
    ///
    /// ```
    /// # use spikelet_graph::ProcessGroup;
    /// # use std::sync::Arc;
    /// # fn example(group: Arc<dyn ProcessGroup>) -> spikelet_graph::Result<()> {
    /// use spikelet_cuda::Cuda;
    /// let gpu = Cuda::new(0)?;
    /// gpu.join_group(group)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If NCCL is missing here (the error says how to install it) or on another rank, a rank does not
    /// answer in time, two ranks share a GPU, or this GPU is already in a group.
    pub fn join_group(&self, exchange: Arc<dyn ProcessGroup>) -> Result<()> {
        self.join_group_within(exchange, group::TIMEOUT)
    }

    /// As [`Cuda::join_group`], with another timeout, which also applies to later sums.
    ///
    /// # Errors
    /// As [`Cuda::join_group`].
    pub fn join_group_within(
        &self,
        exchange: Arc<dyn ProcessGroup>,
        timeout: Duration,
    ) -> Result<()> {
        let gpu = &self.shared.gpu;
        let already = || {
            failure(
                &gpu.name,
                "the GPU is already in a group; a GPU can be one rank of one group only",
            )
        };
        if gpu.group().is_some() {
            return Err(already());
        }
        let group = Group::join(gpu, &*exchange, timeout)?;
        if gpu.set_group(group) {
            Ok(())
        } else {
            Err(already())
        }
    }

    /// Aborts the GPU's group, if it has one, for example when a rank is disconnected; may be called
    /// from any thread. Kernels that wait for that rank end; the results of the running step are
    /// invalid, and every later call that runs or waits for work returns an error.
    pub fn abort_group(&self) {
        if let Some(group) = self.shared.gpu.group() {
            group.abort();
        }
    }

    /// The index of the GPU, from 0, in the driver's order.
    pub fn ordinal(&self) -> usize {
        self.shared.gpu.ordinal
    }

    /// The GPU's properties.
    pub fn properties(&self) -> Properties {
        self.shared.gpu.properties
    }

    /// The vendor's name of the GPU, such as `NVIDIA H200`.
    ///
    /// # Errors
    /// If the driver's query fails.
    pub fn model(&self) -> Result<String> {
        let gpu = &self.shared.gpu;
        gpu.context
            .device
            .name()
            .context(&gpu.name, "querying the name")
    }

    /// Compiles and loads the kernels of a plan for calls with memory and streams of another program.
    ///
    /// # Errors
    /// When the plan was computed for another device, a kernel cannot be compiled, or the plan has a
    /// custom kernel or a sum over ranks.
    pub fn callable(&self, plan: &Plan) -> Result<CallablePlan> {
        plan.check()?;
        plan.check_target(self)?;
        // A later plan may be made while the other program captures a stream, which the creation of a handle would
        // break. A plan that needs a library that is missing has its own error.
        let opened = self.shared.gemm.open().and(self.shared.dnn.open());
        if let Err(error) = opened {
            tracing::debug!("{error}");
        }
        CallablePlan::new(self.shared.clone(), plan)
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
                "cannot copy {bytes} bytes of {dtype} to or from a buffer of {ty} ({} bytes); type and size must match",
                ty.bytes()
            ),
        ))
    }
}

target_of_device!(Cuda, |this| &*this.shared);

impl Backend for Cuda {
    fn name(&self) -> String {
        self.shared.gpu.name.clone()
    }

    fn determinism(&self) -> Determinism {
        Self::DETERMINISM
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.properties().memory_bytes)
    }

    fn memory(&self) -> Option<Memory> {
        let (available, total) = self.shared.gpu.context.memory().ok()?;
        Some(Memory { total, available })
    }

    /// The UUID of the GPU: processes may see one GPU under different indices (`CUDA_VISIBLE_DEVICES`).
    fn memory_name(&self) -> String {
        match self.shared.gpu.context.device.uuid() {
            Ok(uuid) => uuid
                .iter()
                .fold("GPU-".to_string(), |text, byte| format!("{text}{byte:02x}")),
            Err(_) => self.name(),
        }
    }

    fn allocate(&self, ty: &TensorType) -> Result<Buffer> {
        ty.check("allocate")?;
        let memory = DeviceMemory::new(&self.shared.gpu, ty.bytes(), &format!("a tensor of {ty}"))?;
        let _lock = self.shared.uploads();
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
        let _lock = self.shared.lock_stream()?;
        fetch::start(&self.shared.gpu, &self.shared.pool, from)
    }

    fn synchronize(&self) -> Result<()> {
        let _lock = self.shared.lock_stream()?;
        self.shared.gpu.synchronize()
    }

    fn record_event(&self) -> Result<Arc<dyn Event>> {
        let _lock = self.shared.lock_stream()?;
        Ok(Arc::new(transfer::RecordedEvent::now(&self.shared.gpu)?))
    }

    fn wait_for(&self, event: &dyn Event) -> Result<()> {
        let _lock = self.shared.lock_stream()?;
        transfer::wait_for(&self.shared.gpu, &self.shared.gpu.stream, event)
    }

    fn send(&self, from: &Buffer) -> Result<Arc<dyn DeviceTransfer>> {
        self.memory_of(from)?;
        let _lock = self.shared.lock_stream()?;
        Ok(Arc::new(transfer::GpuTransfer::new(
            Arc::new(self.clone()),
            &self.shared.gpu,
            from,
        )?))
    }

    fn receive(
        &self,
        to: &Buffer,
        transfer: &dyn DeviceTransfer,
        free: Option<&dyn Event>,
    ) -> Result<Arc<dyn Event>> {
        self.memory_of(to)?;
        match transfer.as_any().downcast_ref::<transfer::GpuTransfer>() {
            Some(transfer) => {
                let _lock = self.shared.lock_stream()?;
                transfer::receive(&self.shared.gpu, to, transfer, free)
            }
            None => {
                self.upload(to, (&*transfer.on_host()?).into())?;
                self.record_event()
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

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
