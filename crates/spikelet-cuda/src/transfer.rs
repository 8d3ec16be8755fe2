//! Copies of tensors between GPUs, concurrent with the kernels of both.
//!
//! The sender records an event after the tensor is computed. The receiver copies on a separate stream,
//! which waits for that event and for the last use of its buffer, and its kernels wait for the copy.
//! The host does not wait.

use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::library::driver::{DriverError, Event as DriverEvent, Stream, TIMED};
use crate::memory::memory_of;
use spikelet_graph::{Backend, Buffer, DeviceTransfer, Event, Result, Tensor};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// A recorded event.
pub(crate) struct RecordedEvent {
    gpu: Arc<Gpu>,
    event: DriverEvent,
}

impl RecordedEvent {
    /// An event after all work on the GPU's kernel stream.
    pub(crate) fn now(gpu: &Arc<Gpu>) -> Result<Self> {
        Self::on(gpu, &gpu.stream)
    }

    fn on(gpu: &Arc<Gpu>, stream: &Stream) -> Result<Self> {
        gpu.bind()?;
        let event = stream.record_event(TIMED);
        Ok(Self {
            event: event.context(&gpu.name, "recording an event")?,
            gpu: gpu.clone(),
        })
    }
}

impl Event for RecordedEvent {
    fn wait(&self) -> Result<()> {
        self.gpu.bind()?;
        self.event
            .synchronize()
            .context(&self.gpu.name, "waiting for the GPU")
    }

    fn seconds_since(&self, earlier: &dyn Event) -> Result<f64> {
        let same = |other: &&Self| Arc::ptr_eq(&other.gpu, &self.gpu);
        let found = earlier.as_any().downcast_ref::<Self>().filter(same);
        let earlier = found.ok_or_else(|| {
            failure(
                &self.gpu.name,
                "events of two devices cannot be compared; record both on one device",
            )
        })?;
        self.wait()?;
        let ms = earlier.event.elapsed_ms(&self.event);
        Ok(f64::from(ms.context(&self.gpu.name, "reading a timer")?) / 1e3)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Makes a stream of this GPU wait for an event of any device.
pub(crate) fn wait_for(gpu: &Gpu, stream: &Stream, event: &dyn Event) -> Result<()> {
    match event.as_any().downcast_ref::<RecordedEvent>() {
        Some(reached) => stream
            .wait(&reached.event)
            .context(&gpu.name, "waiting for an event"),
        None => event.wait(),
    }
}

/// A tensor on a GPU that is not modified until it is received.
pub(crate) struct GpuTransfer {
    sender: Arc<dyn Backend>,
    gpu: Arc<Gpu>,
    buffer: Buffer,
    computed: RecordedEvent,
}

impl GpuTransfer {
    pub(crate) fn new(sender: Arc<dyn Backend>, gpu: &Arc<Gpu>, buffer: &Buffer) -> Result<Self> {
        Ok(Self {
            computed: RecordedEvent::now(gpu)?,
            buffer: buffer.clone(),
            sender,
            gpu: gpu.clone(),
        })
    }
}

impl DeviceTransfer for GpuTransfer {
    fn on_host(&self) -> Result<Cow<'_, Tensor>> {
        self.computed.wait()?;
        let mut tensor = Tensor::zeros(&self.buffer.ty)?;
        self.sender.download(&self.buffer, (&mut tensor).into())?;
        Ok(Cow::Owned(tensor))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Starts the copy of a transferred tensor into a buffer of this GPU.
pub(crate) fn receive(
    gpu: &Arc<Gpu>,
    to: &Buffer,
    transfer: &GpuTransfer,
    free: Option<&dyn Event>,
) -> Result<Arc<dyn Event>> {
    let sender = &transfer.gpu;
    let from = memory_of(sender, &transfer.buffer)?;
    if to.ty != transfer.buffer.ty {
        return Err(failure(
            &gpu.name,
            format!(
                "{} was sent to a buffer of {}; both ends must have one type",
                transfer.buffer.ty, to.ty
            ),
        ));
    }
    let stream = &gpu.peer_stream;
    wait_for(gpu, stream, &transfer.computed)?;
    if let Some(free) = free {
        wait_for(gpu, stream, free)?;
    }
    let (bytes, target) = (to.ty.bytes(), memory_of(gpu, to)?.pointer);
    if bytes > 0 {
        let what = format!("copying from {}", sender.name);
        // SAFETY: both buffers have the size of the type and stay allocated: they are freed only when the
        // work that was started has finished. The sender modifies nothing until the
        // returned event.
        let started = unsafe {
            if Arc::ptr_eq(sender, gpu) {
                stream.copy(target, from.pointer, bytes)
            } else {
                enable_peer_access(gpu, sender)?;
                stream.copy_peer(target, (&sender.context, from.pointer), bytes)
            }
        };
        started.context(&gpu.name, &what)?;
    }
    let done = RecordedEvent::on(gpu, stream)?;
    wait_for(gpu, &gpu.stream, &done)?;
    Ok(Arc::new(done))
}

/// Enables peer access to another GPU's memory, where the hardware supports it; otherwise copies are
/// staged through the host.
fn enable_peer_access(gpu: &Gpu, peer: &Gpu) -> Result<()> {
    if !gpu.request_peer_access(peer.ordinal) {
        match gpu.context.enable_peer_access(&peer.context) {
            Ok(())
            | Err(
                DriverError::PEER_ACCESS_ALREADY_ENABLED
                | DriverError::PEER_ACCESS_UNSUPPORTED
                | DriverError::TOO_MANY_PEERS,
            ) => {}
            Err(error) => {
                let problem = format!("enabling access to {}: {error}", peer.name);
                return Err(failure(&gpu.name, problem));
            }
        }
    }
    Ok(())
}
