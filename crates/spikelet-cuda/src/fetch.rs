//! Downloads: asynchronous copies of results, concurrent with the next steps.

use crate::bytes;
use crate::error::Context;
use crate::gpu::Gpu;
use crate::library::driver::Event;
use crate::memory::{DeviceMemory, PinnedMemory, mark, memory_of};
use spikelet_graph::{Buffer, HostFuture, Result, Tensor};
use std::sync::{Arc, Mutex, PoisonError};

/// Pinned buffers for reuse.
pub(crate) type Pool = Arc<Mutex<Vec<PinnedMemory>>>;

/// Alignment of tensors in a pinned buffer.
const ALIGN: usize = 64;

struct Fetch {
    gpu: Arc<Gpu>,
    pool: Pool,
    pinned: Option<PinnedMemory>,
    tensors: Vec<(usize, Tensor)>,
    done: Event,
}

/// Starts copies of buffers to the host.
pub(crate) fn start(gpu: &Arc<Gpu>, pool: &Pool, from: &[&Buffer]) -> Result<Box<dyn HostFuture>> {
    let mut tensors = vec![];
    let mut bytes = 0;
    let memories = from
        .iter()
        .map(|b| memory_of(gpu, b))
        .collect::<Result<Vec<_>>>()?;
    for buffer in from {
        tensors.push((bytes, Tensor::zeros(&buffer.ty)?));
        bytes = (bytes + buffer.ty.bytes()).next_multiple_of(ALIGN);
    }
    let mut known = pool.lock().unwrap_or_else(PoisonError::into_inner);
    let reused = known
        .iter()
        .position(|p| p.bytes() >= bytes)
        .map(|k| known.swap_remove(k));
    drop(known);
    let mut pinned = match reused {
        Some(pinned) => pinned,
        None => PinnedMemory::new(gpu, bytes.max(1024))?,
    };
    let started = copy(gpu, from, &memories, &tensors, &mut pinned);
    let done = match started.and_then(|()| mark(gpu, &gpu.stream)) {
        Ok(done) => done,
        Err(error) => {
            // Copies in flight may still write to it.
            std::mem::forget(pinned);
            return Err(error);
        }
    };
    Ok(Box::new(Fetch {
        done,
        gpu: gpu.clone(),
        pool: pool.clone(),
        pinned: Some(pinned),
        tensors,
    }))
}

/// Starts a copy of each buffer into its part of a pinned buffer.
fn copy(
    gpu: &Gpu,
    from: &[&Buffer],
    memories: &[&DeviceMemory],
    tensors: &[(usize, Tensor)],
    pinned: &mut PinnedMemory,
) -> Result<()> {
    for ((buffer, memory), (at, _)) in from.iter().zip(memories).zip(tensors) {
        let to = &mut pinned.as_mut_slice()[*at..*at + buffer.ty.bytes()];
        if !to.is_empty() {
            // SAFETY: sizes agree; the pinned buffer is kept until the event has passed.
            unsafe { gpu.stream.download(to, memory.pointer) }
                .context(&gpu.name, "copying results from the GPU")?;
        }
    }
    Ok(())
}

impl HostFuture for Fetch {
    fn wait(mut self: Box<Self>) -> Result<Vec<Tensor>> {
        self.done
            .synchronize()
            .context(&self.gpu.name, "waiting for results")?;
        self.gpu.check_group()?;
        let pinned = self.pinned.as_ref().expect("taken when dropped");
        let mut tensors = std::mem::take(&mut self.tensors);
        for (at, tensor) in &mut tensors {
            let (_, to) = bytes::of_mut(tensor.into());
            to.copy_from_slice(&pinned.as_slice()[*at..*at + to.len()]);
        }
        Ok(tensors.into_iter().map(|(_, tensor)| tensor).collect())
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        // A pinned buffer is reused only after the copy into it has finished.
        if self.done.synchronize().is_ok()
            && let Some(pinned) = self.pinned.take()
        {
            self.pool
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(pinned);
        } else if let Some(pinned) = self.pinned.take() {
            // The GPU may still write to it.
            std::mem::forget(pinned);
        }
    }
}
