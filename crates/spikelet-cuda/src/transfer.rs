//! Tensors from one GPU to another, beside the kernels of both.
//!
//! The sender records when the tensor is made, the receiver copies on a stream of its own once that
//! moment and its own buffer's last use are over, and its kernels wait for the copy. The host waits
//! for nothing.

use crate::backend::{Cuda, memory_of};
use crate::error::{Doing, failure};
use crate::gpu::Gpu;
use cudarc::driver::sys::{CUevent_flags, CUresult, cuCtxEnablePeerAccess};
use cudarc::driver::{CudaEvent, CudaStream, result};
use spikelet_graph::{Backend, Buffer, DeviceTransfer, Event, Result, Tensor};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// A recorded event.
pub(crate) struct Reached {
    gpu: Arc<Gpu>,
    event: CudaEvent,
}

impl Reached {
    /// When all that was started on the GPU's kernel stream is done.
    pub(crate) fn now(gpu: &Arc<Gpu>) -> Result<Self> {
        Self::on(gpu, &gpu.stream)
    }

    fn on(gpu: &Arc<Gpu>, stream: &CudaStream) -> Result<Self> {
        gpu.bind()?;
        let event = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        Ok(Self {
            event: event.doing(&gpu.name, "recording an event")?,
            gpu: gpu.clone(),
        })
    }
}

impl Event for Reached {
    fn wait(&self) -> Result<()> {
        self.gpu.bind()?;
        self.event
            .synchronize()
            .doing(&self.gpu.name, "waiting for the GPU")
    }

    fn seconds_since(&self, earlier: &dyn Event) -> Result<f64> {
        let same = |other: &&Self| Arc::ptr_eq(&other.gpu, &self.gpu);
        let found = earlier.as_any().downcast_ref::<Self>().filter(same);
        let earlier = found.ok_or_else(|| {
            failure(
                &self.gpu.name,
                "mean_var of two devices cannot be compared; ask for both on one",
            )
        })?;
        self.wait()?;
        let ms = earlier.event.elapsed_ms(&self.event);
        Ok(f64::from(ms.doing(&self.gpu.name, "reading a timer")?) / 1e3)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Makes a stream of this GPU wait for a moment of any device.
pub(crate) fn wait_for(gpu: &Gpu, stream: &CudaStream, moment: &dyn Event) -> Result<()> {
    match moment.as_any().downcast_ref::<Reached>() {
        Some(reached) => stream
            .wait(&reached.event)
            .doing(&gpu.name, "waiting for an event"),
        None => moment.wait(),
    }
}

/// A tensor that lies on a GPU and stays as it is until somebody has it.
pub(crate) struct OnGpu {
    sender: Cuda,
    buffer: Buffer,
    made: Reached,
}

impl OnGpu {
    pub(crate) fn new(sender: &Cuda, buffer: &Buffer) -> Result<Self> {
        Ok(Self {
            made: Reached::now(&sender.shared.gpu)?,
            buffer: buffer.clone(),
            sender: sender.clone(),
        })
    }
}

impl DeviceTransfer for OnGpu {
    fn on_host(&self) -> Result<Cow<'_, Tensor>> {
        self.made.wait()?;
        let mut tensor = Tensor::zeros(&self.buffer.ty)?;
        self.sender.download(&self.buffer, (&mut tensor).into())?;
        Ok(Cow::Owned(tensor))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Starts the copy of a parcel into a buffer of this GPU.
pub(crate) fn receive(
    gpu: &Arc<Gpu>,
    to: &Buffer,
    parcel: &OnGpu,
    free: Option<&dyn Event>,
) -> Result<Arc<dyn Event>> {
    let sender = &parcel.sender.shared.gpu;
    let from = memory_of(sender, &parcel.buffer)?;
    if to.ty != parcel.buffer.ty {
        return Err(failure(
            &gpu.name,
            format!(
                "{} was sent to a buffer of {}; both ends must have one type",
                parcel.buffer.ty, to.ty
            ),
        ));
    }
    let stream = &gpu.arrivals;
    wait_for(gpu, stream, &parcel.made)?;
    if let Some(free) = free {
        wait_for(gpu, stream, free)?;
    }
    let (bytes, target) = (to.ty.bytes(), memory_of(gpu, to)?.pointer);
    if bytes > 0 {
        let what = format!("copying from {}", sender.name);
        // SAFETY: both pieces are as large as the type says and stay allocated: buffers are freed
        // only when the work that was started is over. The sender changes nothing until the moment
        // that is returned.
        let started = unsafe {
            if Arc::ptr_eq(sender, gpu) {
                result::memcpy_dtod_async(target, from.pointer, bytes, stream.cu_stream())
            } else {
                reach(gpu, sender)?;
                result::memcpy_peer_async(
                    gpu.context.cu_ctx(),
                    target,
                    sender.context.cu_ctx(),
                    from.pointer,
                    bytes,
                    stream.cu_stream(),
                )
            }
        };
        started.doing(&gpu.name, &what)?;
    }
    let done = Reached::on(gpu, stream)?;
    wait_for(gpu, &gpu.stream, &done)?;
    Ok(Arc::new(done))
}

/// Lets a GPU read another's memory directly, where the hardware can; copies go through the host
/// elsewhere.
fn reach(gpu: &Gpu, peer: &Gpu) -> Result<()> {
    if !gpu.reaches(peer.ordinal) {
        gpu.bind()?;
        // SAFETY: both contexts are alive; flags must be 0.
        let answer = unsafe { cuCtxEnablePeerAccess(peer.context.cu_ctx(), 0) };
        match answer {
            CUresult::CUDA_SUCCESS
            | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
            | CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
            | CUresult::CUDA_ERROR_TOO_MANY_PEERS => {}
            error => {
                return Err(failure(
                    &gpu.name,
                    format!("reaching {}: {error:?}", peer.name),
                ));
            }
        }
    }
    Ok(())
}
