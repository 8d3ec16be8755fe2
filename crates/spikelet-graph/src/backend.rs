//! What a device must offer to run plans.

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
    /// All that there is.
    pub total: usize,
    /// What nobody uses.
    pub available: usize,
}

/// The kind of a device, for programs that treat kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The host's processor; buffers lie in its memory.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A backend of the program's own.
    Other,
}

/// A device: memory, and plans made ready to run.
///
/// Several executors may share buffers (training and evaluation share the parameters). They run
/// one after the other in the order in which they are called, and so do copies: a device may
/// still be at work when [`Executor::run`] returns, [`Backend::upload`] changes nothing that an
/// earlier run still reads, and [`Backend::download`] waits for what was started before it.
pub trait Backend: Target + Send + Sync {
    /// A short name: `cpu`, `cuda:0`.
    fn name(&self) -> String;

    /// What kind of device it is, whatever its name.
    fn kind(&self) -> DeviceKind {
        DeviceKind::Other
    }

    /// What the device promises about the bits of its results.
    fn determinism(&self) -> Determinism;

    /// Bytes of the device's memory, where it has its own.
    fn memory_bytes(&self) -> Option<usize> {
        None
    }

    /// The memory that the device works in, its own or the machine's, where it can tell.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Memory for one tensor, set to zero.
    ///
    /// # Errors
    /// When the device has not enough memory.
    fn allocate(&self, ty: &TensorType) -> Result<Buffer>;

    /// Copies host values into a buffer of the same element type and size.
    ///
    /// # Errors
    /// When type or size differ; [`Error::ForeignBuffer`](crate::Error::ForeignBuffer) when another
    /// backend allocated the buffer.
    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()>;

    /// Waits for what was started and copies a buffer to the host.
    ///
    /// # Errors
    /// As [`Backend::upload`].
    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()>;

    /// Starts to copy buffers to the host, with the values that they have when all that was
    /// started before is done; later runs and copies do not change what arrives. A device that
    /// works while the program goes on returns at once; by default the copies are made here.
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

    /// Waits until everything that was started is done.
    ///
    /// # Errors
    /// When something that was started has failed.
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

    /// Offers a buffer, as it is when all that was started is done, to another device. Until that
    /// one has it, nothing may be started that changes the buffer.
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

    /// Makes a plan ready to run: arena allocated, kernels prepared. `inputs` are the buffers of
    /// the graph's inputs in order; `outputs` those of its outputs, `None` for one that updates
    /// an input in place.
    ///
    /// # Errors
    /// When memory is short or a buffer has another type than the plan;
    /// [`Error::ForeignBuffer`](crate::Error::ForeignBuffer) when another backend allocated a
    /// buffer; [`Error::Plan`](crate::Error::Plan) when the plan was made for another device or
    /// number of threads and cannot run on this one.
    fn load(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
    ) -> Result<Box<dyn Executor>> {
        let arena = self.arena(plan)?;
        self.load_into(plan, inputs, outputs, &arena)
    }

    /// An arena for a plan, and for others that need no more.
    ///
    /// # Errors
    /// When memory is short.
    fn arena(&self, plan: &Plan) -> Result<Buffer> {
        let words = plan.arena_bytes.div_ceil(8);
        self.allocate(&TensorType::new(DType::I64, [words]))
    }

    /// As [`Backend::load`], with an arena that is given: a buffer of at least as many bytes as the
    /// plan's, which is none of its inputs and outputs. Plans that run one after the other can
    /// share one.
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

/// Copies that are on their way from a device.
pub trait HostFuture: Send {
    /// Waits for them: one tensor a buffer, in the order in which they were asked for.
    ///
    /// # Errors
    /// When the device has failed.
    fn wait(self: Box<Self>) -> Result<Vec<Tensor>>;
}

/// Copies that were made when they were asked for.
struct ReadyHost(Vec<Tensor>);

impl HostFuture for ReadyHost {
    fn wait(self: Box<Self>) -> Result<Vec<Tensor>> {
        Ok(self.0)
    }
}

/// A plan with its memory on a device.
pub trait Executor: Send {
    /// Runs the plan once.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&mut self) -> Result<()>;

    /// The arena that is held, in bytes: equal to the plan's prediction.
    fn arena_bytes(&self) -> usize;

    /// Runs the plan once and returns the seconds that each kernel took, in the plan's order.
    ///
    /// # Errors
    /// When the device fails.
    fn profile(&mut self) -> Result<Vec<f64>>;
}
