//! The interface of a device that runs plans.

use crate::buffer::Buffer;
use crate::determinism::Determinism;
use crate::error::Result;
use crate::host_tensor::{HostTensor, HostTensorMut};
use crate::plan::Plan;
use crate::target::Target;
use crate::tensor::Tensor;
use crate::transfer::{DeviceTransfer, Event, OnHost, ReadyEvent};
use crate::types::{DType, TensorType};
use std::sync::Arc;

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The total.
    pub total: usize,
    /// The part that is not in use.
    pub available: usize,
}

/// The kind of a device, for programs that treat kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The host's processor; buffers are in host memory.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A custom backend.
    Other,
}

/// A device: allocates memory, and prepares plans for execution.
///
/// Several executors can share buffers (training and evaluation share the parameters). Runs and copies
/// execute in the order of the calls. They may be asynchronous: a run may still execute when
/// [`Executor::run`] returns, [`Backend::upload`] changes no memory that an earlier run still reads,
/// and [`Backend::download`] waits for all work started before it.
pub trait Backend: Target + Send + Sync {
    /// A short name: `cpu`, `cuda:0`.
    fn name(&self) -> String;

    /// The kind of the device, independent of its name.
    fn kind(&self) -> DeviceKind {
        DeviceKind::Other
    }

    /// The agreement of the device's results with the reference and between runs.
    fn determinism(&self) -> Determinism;

    /// The bytes of the device's own memory, if it has any.
    fn memory_bytes(&self) -> Option<usize> {
        None
    }

    /// The memory that the device uses, its own or the host's, if it is known.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// The name of the memory that the device uses: devices of one host with the same name share it.
    fn memory_name(&self) -> String {
        match self.kind() {
            DeviceKind::Cpu => "cpu".to_string(),
            DeviceKind::Cuda | DeviceKind::Other => self.name(),
        }
    }

    /// Allocates memory for one tensor, set to zero.
    ///
    /// # Errors
    /// When the device is out of memory.
    fn allocate(&self, ty: &TensorType) -> Result<Buffer>;

    /// Copies host values into a buffer of the same element type and size.
    ///
    /// # Errors
    /// When type or size differ; [`Error::ForeignBuffer`](crate::Error::ForeignBuffer) when another
    /// backend allocated the buffer.
    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()>;

    /// Waits for all started work and copies a buffer to the host.
    ///
    /// # Errors
    /// As [`Backend::upload`].
    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()>;

    /// Starts to copy buffers to the host, with their values after all work started before; later
    /// runs and copies do not change the result. An asynchronous device returns immediately; the
    /// default implementation copies synchronously.
    ///
    /// # Errors
    /// As [`Backend::download`].
    fn fetch(&self, from: &[&Buffer]) -> Result<Box<dyn HostFuture>> {
        let mut tensors = vec![];
        for buffer in from {
            let mut tensor = Tensor::zeros(&buffer.ty)?;
            self.download(buffer, (&mut tensor).into())?;
            tensors.push(tensor);
        }
        Ok(Box::new(ReadyHost(tensors)))
    }

    /// Waits until all started work has finished.
    ///
    /// # Errors
    /// When started work has failed.
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// Records an event on this device: it is reached when all work started before it has finished.
    ///
    /// # Errors
    /// When the device fails.
    fn record_event(&self) -> Result<Arc<dyn Event>> {
        Ok(Arc::new(ReadyEvent::now()))
    }

    /// Makes work that is started from now on wait for an event of another device, or of this one.
    ///
    /// # Errors
    /// When a device fails.
    fn wait_for(&self, event: &dyn Event) -> Result<()> {
        event.wait()
    }

    /// Offers a buffer to another device, with its values after all work started before. Until the
    /// other device has received it, no work may be started that changes the buffer.
    ///
    /// # Errors
    /// When the device fails.
    fn send(&self, from: &Buffer) -> Result<Arc<dyn DeviceTransfer>> {
        let mut tensor = Tensor::zeros(&from.ty)?;
        self.download(from, (&mut tensor).into())?;
        Ok(Arc::new(OnHost(tensor)))
    }

    /// Copies a transfer of another device into a buffer of the same type, concurrently with the
    /// kernels and after the event `free`; work that is started from now on reads the copied values.
    /// The sender may change its buffer after the returned event.
    ///
    /// # Errors
    /// When types differ or a device fails.
    fn receive(
        &self,
        to: &Buffer,
        transfer: &dyn DeviceTransfer,
        free: Option<&dyn Event>,
    ) -> Result<Arc<dyn Event>> {
        if let Some(free) = free {
            free.wait()?;
        }
        let tensor = transfer.on_host()?;
        self.upload(to, (&*tensor).into())?;
        Ok(Arc::new(ReadyEvent::now()))
    }

    /// Prepares a plan for execution: allocates the arena and prepares the kernels. `inputs` are the
    /// buffers of the graph's inputs in order, `outputs` those of its outputs, `None` for an output
    /// that updates an input in place.
    ///
    /// # Errors
    /// When the device is out of memory or a buffer has another type than the plan;
    /// [`Error::ForeignBuffer`](crate::Error::ForeignBuffer) when another backend allocated a
    /// buffer; [`Error::Plan`](crate::Error::Plan) when the plan was computed for another device
    /// or number of threads and cannot run on this one.
    fn load(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
    ) -> Result<Box<dyn Executor>> {
        let arena = self.arena(plan)?;
        self.load_into(plan, inputs, outputs, &arena)
    }

    /// Allocates an arena for a plan, which other plans that need at most as much can share.
    ///
    /// # Errors
    /// When the device is out of memory.
    fn arena(&self, plan: &Plan) -> Result<Buffer> {
        let words = plan.arena_bytes.div_ceil(8);
        self.allocate(&TensorType::new(DType::I64, [words]))
    }

    /// As [`Backend::load`], with a given arena: a buffer of at least [`Plan::arena_bytes`], different
    /// from all inputs and outputs. Plans that run one after the other can share an arena.
    ///
    /// # Errors
    /// As [`Backend::load`]; [`Error::Plan`](crate::Error::Plan) when the arena is too small or the
    /// memory of an input or output.
    fn load_into(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>>;
}

/// Copies to the host that may not have finished.
pub trait HostFuture: Send {
    /// Waits for the copies and returns one tensor per buffer, in the order of the request.
    ///
    /// # Errors
    /// When the device has failed.
    fn wait(self: Box<Self>) -> Result<Vec<Tensor>>;
}

/// Copies that have finished.
struct ReadyHost(Vec<Tensor>);

impl HostFuture for ReadyHost {
    fn wait(self: Box<Self>) -> Result<Vec<Tensor>> {
        Ok(self.0)
    }
}

/// A plan that is loaded on a device.
pub trait Executor: Send {
    /// Runs the plan once.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&mut self) -> Result<()>;

    /// The bytes of the arena, as predicted by the plan.
    fn arena_bytes(&self) -> usize;

    /// The nodes of the recorded run that the device replays, with those of the bodies of its loops, each counted
    /// once; `None` if no run was recorded.
    fn recorded_nodes(&self) -> Option<usize> {
        None
    }

    /// Runs the plan once and returns the time of each kernel in seconds, in the plan's order.
    ///
    /// # Errors
    /// When the device fails.
    fn profile(&mut self) -> Result<Vec<f64>>;
}
