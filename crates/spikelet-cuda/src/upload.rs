//! Uploads of inputs: collected in pinned memory, copied on a separate stream while the GPU is busy,
//! and scattered to their buffers by one kernel just before the next run.

use crate::error::Context;
use crate::gpu::Gpu;
use crate::launch::Launch;
use crate::library::driver::{Event, Function};
use crate::memory::{DeviceMemory, PinnedMemory, mark};
use rayon::prelude::*;
use spikelet_graph::{Result, Storage};
use std::sync::Arc;

/// The number of slabs in rotation: one being filled, one being copied, one being read.
const SLABS: usize = 3;

/// The most inputs that one launch scatters.
const COPIES_PER_LAUNCH: usize = 16;

/// Alignment of inputs in a slab.
const ALIGN: usize = 256;

/// Bytes that one thread copies at a time.
const COPIED: usize = 1 << 20;

const SOURCE: &str = include_str!("text/scatter.cu");

struct Slab {
    host: PinnedMemory,
    device: DeviceMemory,
    /// An event after the kernel that reads it.
    free: Option<Event>,
}

struct PendingCopy {
    to: u64,
    /// Keeps the destination alive.
    _owner: Arc<dyn Storage>,
    offset: usize,
    bytes: usize,
}

/// The pending uploads.
pub(crate) struct Uploads {
    gpu: Arc<Gpu>,
    /// The kernel that scatters inputs, loaded on first use.
    scatter: Option<Arc<Function>>,
    slabs: Vec<Option<Slab>>,
    current: usize,
    used: usize,
    copies: Vec<PendingCopy>,
}

/// Copies on several threads what a single core would copy slower than the bus of the GPU.
fn copy(from: &[u8], to: &mut [u8]) {
    // The caller has locked the uploads: a thread of the pool would take other jobs while it waits, and a job that
    // uploads would wait for the lock forever.
    if from.len() <= COPIED || rayon::current_thread_index().is_some() {
        return to.copy_from_slice(from);
    }
    to.par_chunks_mut(COPIED)
        .zip(from.par_chunks(COPIED))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

impl Uploads {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            scatter: None,
            slabs: (0..SLABS).map(|_| None).collect(),
            current: 0,
            used: 0,
            copies: vec![],
        }
    }

    /// Copies `values`, to be written to `to` in memory of `owner` before the next run.
    pub(crate) fn push(&mut self, to: u64, owner: &Arc<dyn Storage>, values: &[u8]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        if self.copies.iter().any(|p| p.to == to) {
            self.flush()?;
        }
        let offset = self.used.next_multiple_of(ALIGN);
        let end = offset + values.len();
        let capacity = self.slabs[self.current]
            .as_ref()
            .map_or(0, |s| s.host.bytes());
        if end > capacity && !self.copies.is_empty() {
            self.flush()?;
            return self.push(to, owner, values);
        }
        self.prepare(values.len())?;
        let slab = self.slabs[self.current].as_mut().expect("prepared above");
        copy(values, &mut slab.host.as_mut_slice()[offset..end]);
        self.used = end;
        self.copies.push(PendingCopy {
            to,
            _owner: owner.clone(),
            offset,
            bytes: values.len(),
        });
        Ok(())
    }

    /// Grows the current slab as needed and waits until it is free.
    fn prepare(&mut self, bytes: usize) -> Result<()> {
        let slot = &mut self.slabs[self.current];
        if let Some(slab) = slot
            && let Some(event) = slab.free.take()
        {
            event
                .synchronize()
                .context(&self.gpu.name, "waiting for an upload")?;
        }
        if slot.as_ref().is_none_or(|s| s.host.bytes() < bytes) {
            let bytes = (2 * bytes).max(1 << 16).next_multiple_of(ALIGN);
            *slot = Some(Slab {
                host: PinnedMemory::new(&self.gpu, bytes)?,
                device: DeviceMemory::new(&self.gpu, bytes, "uploads")?,
                free: None,
            });
        }
        Ok(())
    }

    /// Starts the copy, and after it the kernel that scatters the inputs.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let gpu = self.gpu.clone();
        let slab = self.slabs[self.current]
            .as_mut()
            .expect("the copies are in it");
        let function = match &self.scatter {
            Some(function) => function,
            None => self.scatter.insert(gpu.function(SOURCE, "scatter")?),
        };
        let from = &slab.host.as_slice()[..self.used];
        // SAFETY: the device slab is as large as the host slab, which is not touched again before
        // its event has passed.
        unsafe { gpu.copy_stream.upload(slab.device.pointer, from) }
            .context(&gpu.name, "copying inputs to the GPU")?;
        let copied = mark(&gpu, &gpu.copy_stream)?;
        gpu.stream
            .wait(&copied)
            .context(&gpu.name, "waiting for inputs")?;
        for copies in self.copies.chunks(COPIES_PER_LAUNCH) {
            let largest = copies.iter().map(|p| p.bytes).max().unwrap_or(0);
            let blocks = largest.div_ceil(16 * 256).clamp(1, 64) as u32;
            let mut launch = Launch::new(
                "scatter",
                function.clone(),
                [blocks, copies.len() as u32, 1],
                [256, 1, 1],
            );
            launch.word(slab.device.pointer);
            for k in 0..COPIES_PER_LAUNCH {
                let copy = copies.get(k);
                launch.word(copy.map_or(0, |p| p.to));
                launch.word(copy.map_or(0, |p| p.offset as u64));
                launch.word(copy.map_or(0, |p| p.bytes as u64));
            }
            // SAFETY: every copy is within the slab and fits its destination, as checked when it was
            // pushed.
            unsafe { launch.run(&gpu, &gpu.stream, |word| word) }?;
        }
        slab.free = Some(mark(&gpu, &gpu.stream)?);
        self.copies.clear();
        self.used = 0;
        self.current = (self.current + 1) % SLABS;
        Ok(())
    }
}
