//! Loops in CUDA graphs: WHILE nodes, whose body graph the GPU repeats while a condition holds.
//!
//! They exist since CUDA 12.4. A kernel at the end of the body sets the condition by
//! `cudaGraphSetConditional`, which compares the loop's counter with its length. The same kernel runs before
//! the node: the driver resets conditions only when the whole graph is launched, not when a loop in the body
//! of another one starts again.
//!
//! Source: CUDA Driver API, Graph Management, conditional nodes.

use crate::error::{Context, failure, in_context};
use crate::gpu::Gpu;
use crate::launch::Launch;
use crate::library::driver::{CUgraph, Function, NewDriver, Stream};
use crate::memory::DeviceMemory;
use spikelet_graph::Result;
use std::sync::Arc;

/// The kernel that sets the condition.
const KERNEL: &str = "spk_loop_condition";

/// WHILE nodes of one GPU.
pub(crate) struct WhileNodes {
    driver: &'static NewDriver,
    condition: Arc<Function>,
}

/// A loop to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct CountedLoop<'a> {
    /// The stream that is captured.
    pub(crate) stream: &'a Arc<Stream>,
    /// Another stream of the GPU, which captures the body.
    pub(crate) body_stream: &'a Arc<Stream>,
    /// The address of the counter, a 64-bit integer that the body increases.
    pub(crate) counter: u64,
    /// The loop ends when the counter is not less.
    pub(crate) last: usize,
}

impl WhileNodes {
    /// Looks the driver's functions up, loads the kernel and runs a loop. The GPU's context must be current
    /// and none of this thread's streams captured.
    ///
    /// # Errors
    /// If this driver or this GPU has no such nodes.
    pub(crate) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let driver = NewDriver::get().map_err(|missing| failure(&gpu.name, missing.to_string()))?;
        let code = concat!(include_str!("text/loop_condition.ptx"), "\0").as_bytes();
        // SAFETY: PTX that ends with a zero byte.
        let module = unsafe { gpu.context.load_module(code) };
        let condition = module.and_then(|module| module.function(KERNEL));
        let condition = condition.context(&gpu.name, "loading the condition of loops")?;
        let nodes = Self {
            driver,
            condition: Arc::new(condition),
        };
        nodes.check(gpu)?;
        Ok(nodes)
    }

    /// Runs a loop of one step.
    fn check(&self, gpu: &Arc<Gpu>) -> Result<()> {
        let stream = || {
            let stream = gpu.context.new_stream();
            stream.context(&gpu.name, "creating a stream")
        };
        let (stream, body_stream) = (stream()?, stream()?);
        let what = "running a loop in a CUDA graph";
        let counter = DeviceMemory::new(gpu, 8, what)?;
        let clear = |to: &Stream, value| {
            // SAFETY: the counter has eight bytes and is alive until this function returns, after the
            // graph has run.
            unsafe { to.fill(counter.pointer, value, 8) }.context(&gpu.name, what)
        };
        let counted = CountedLoop {
            stream: &stream,
            body_stream: &body_stream,
            counter: counter.pointer,
            last: 1,
        };
        let graph = stream.capture(in_context(&gpu.name, what), || {
            clear(&stream, 0)?;
            // SAFETY: as above; the body stream is not captured.
            unsafe { self.record(gpu, counted, || clear(&body_stream, 1)) }.map(|_| ())
        })?;
        let mut count = [0_u8; 8];
        if let Some(graph) = graph {
            graph.launch().context(&gpu.name, what)?;
            // SAFETY: both have eight bytes, which are used after the copy was waited for.
            unsafe { stream.download(&mut count, counter.pointer) }.context(&gpu.name, what)?;
            stream.synchronize().context(&gpu.name, what)?;
        }
        match count {
            [1, 1, 1, 1, 1, 1, 1, 1] => Ok(()),
            _ => Err(failure(&gpu.name, "a loop in a CUDA graph did not run")),
        }
    }

    /// Records a loop as one node; `body` enqueues one turn on the body stream. Returns the graph of the body,
    /// which belongs to the node.
    ///
    /// # Safety
    /// The counter must be alive whenever the graph runs. The stream must be captured by this thread, the body
    /// stream must not be captured, and both must be streams of the GPU's context, which must be current.
    pub(crate) unsafe fn record(
        &self,
        gpu: &Gpu,
        counted: CountedLoop<'_>,
        body: impl FnOnce() -> Result<()>,
    ) -> Result<CUgraph> {
        let CountedLoop {
            stream,
            body_stream,
            ..
        } = counted;
        let in_context = in_context(&gpu.name, "recording a loop");
        let handle = stream.new_condition(self.driver).map_err(&in_context)?;
        let mut condition = Launch::new(KERNEL, self.condition.clone(), [1; 3], [1; 3]);
        condition.word(counted.counter);
        condition.word(counted.last as u64);
        condition.word(handle);
        // SAFETY: the arguments are those of the kernel; the rest is the caller's promise.
        unsafe { condition.run(gpu, stream, |word| word) }?;
        let added = stream.add_loop(self.driver, handle);
        let body_graph = added.map_err(&in_context)?;
        // SAFETY: the graph was just added, with the graph that this thread captures.
        unsafe {
            body_stream.capture_to(self.driver, body_graph, in_context, || {
                body()?;
                // SAFETY: as for the first launch.
                condition.run(gpu, body_stream, |word| word)
            })
        }?;
        Ok(body_graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn a_gpu_repeats_the_body_of_a_loop() {
        let gpu = Arc::new(Gpu::open(0).unwrap());
        gpu.bind().unwrap();
        WhileNodes::new(&gpu).unwrap();
    }
}
