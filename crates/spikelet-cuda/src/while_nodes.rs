//! Loops in CUDA graphs: WHILE nodes, whose body graph the GPU repeats while a condition holds.
//!
//! They exist since CUDA 12.4. A kernel at the end of the body sets the condition by
//! `cudaGraphSetConditional`, which compares the loop's counter with its length. The same kernel runs before
//! the node: the driver resets conditions only when the whole graph is launched, not when a loop in the body
//! of another one starts again.
//!
//! Source: CUDA Driver API, Graph Management, conditional nodes.

mod api;

use crate::capture::CaptureNodes;
use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use api::Api;
use cudarc::driver::sys::{
    self, CUDA_CONDITIONAL_NODE_PARAMS, CUgraph, CUgraphConditionalHandle,
    CUgraphConditionalNodeType, CUgraphInstantiate_flags_enum, CUgraphNodeParams, CUgraphNodeType,
    CUstreamCaptureMode,
};
use cudarc::driver::{CudaFunction, CudaStream, DriverError, result};
use cudarc::nvrtc::Ptx;
use spikelet_graph::Result;
use std::ffi::c_uint;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`: a launch of the graph sets the condition to the default.
const ASSIGN_DEFAULT: c_uint = 1;

/// The kernel that sets the condition.
const KERNEL: &str = "spk_loop_condition";

/// WHILE nodes of one GPU.
pub(crate) struct WhileNodes {
    api: Api,
    capture: CaptureNodes,
    condition: Arc<CudaFunction>,
}

/// A loop to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct CountedLoop<'a> {
    /// The stream that is captured.
    pub(crate) stream: &'a Arc<CudaStream>,
    /// Another stream of the GPU, which captures the body.
    pub(crate) body_stream: &'a Arc<CudaStream>,
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
        let api = Api::open().map_err(|problem| failure(&gpu.name, problem))?;
        let module = gpu
            .context
            .load_module(Ptx::from_src(include_str!("text/loop_condition.ptx")))
            .context(&gpu.name, "loading the condition of loops")?;
        let condition = module
            .load_function(KERNEL)
            .context(&gpu.name, "loading the condition of loops")?;
        let capture = CaptureNodes::open().map_err(|problem| failure(&gpu.name, problem))?;
        let nodes = Self {
            api,
            capture,
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
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).context(&gpu.name, what)?;
        let clear = |to: &CudaStream, value| {
            // SAFETY: the counter has eight bytes and is alive until this function returns, after the
            // graph has run.
            unsafe { result::memset_d8_async(counter.pointer, value, 8, to.cu_stream()) }
                .context(&gpu.name, what)
        };
        let counted = CountedLoop {
            stream: &stream,
            body_stream: &body_stream,
            counter: counter.pointer,
            last: 1,
        };
        let recorded = clear(&stream, 0)
            // SAFETY: as above; the body stream is not captured.
            .and_then(|()| unsafe { self.record(gpu, counted, || clear(&body_stream, 1)) });
        let flags = CUgraphInstantiate_flags_enum::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).context(&gpu.name, what);
        recorded?;
        let mut count = [0_u8; 8];
        if let Some(graph) = graph? {
            graph.launch().context(&gpu.name, what)?;
            // SAFETY: both have eight bytes, which are used after the copy was waited for.
            unsafe { result::memcpy_dtoh_async(&mut count, counter.pointer, stream.cu_stream()) }
                .context(&gpu.name, what)?;
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
        let context = gpu.context.cu_ctx();
        let (graph, _) = self.capture.captured(gpu, stream)?;
        let mut handle = 0;
        // SAFETY: graph and context are alive; one number is written.
        let status =
            unsafe { (self.api.create_handle)(&mut handle, graph, context, 0, ASSIGN_DEFAULT) };
        self.succeed(gpu, status)?;
        let mut condition = Launch::new(KERNEL, self.condition.clone(), [1; 3], [1; 3]);
        condition.word(counted.counter);
        condition.word(counted.last as u64);
        condition.word(handle);
        // SAFETY: the arguments are those of the kernel; the rest is the caller's promise.
        unsafe { condition.run(gpu, stream, |word| word) }?;
        let body_graph = self.add(gpu, stream, handle)?;

        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as c_uint;
        // SAFETY: stream and graph are alive; without dependencies there is nothing to read.
        let status = unsafe {
            (self.api.capture_to)(
                body_stream.cu_stream(),
                body_graph,
                ptr::null(),
                ptr::null(),
                0,
                mode,
            )
        };
        self.succeed(gpu, status)?;
        // SAFETY: as for the first launch.
        let recorded =
            body().and_then(|()| unsafe { condition.run(gpu, body_stream, |word| word) });
        // SAFETY: this thread has begun to capture the stream.
        let ended = unsafe { result::stream::end_capture(body_stream.cu_stream()) };
        recorded?;
        ended.context(&gpu.name, "recording a loop")
    }

    /// Adds the node behind what was captured, and returns the graph of its body.
    fn add(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        handle: CUgraphConditionalHandle,
    ) -> Result<CUgraph> {
        let (graph, dependencies) = self.capture.captured(gpu, stream)?;
        // SAFETY: it consists of numbers and pointers, which may be zero.
        let mut node: CUgraphNodeParams = unsafe { MaybeUninit::zeroed().assume_init() };
        node.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        node.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
            size: 1,
            phGraph_out: ptr::null_mut(),
            ctx: gpu.context.cu_ctx(),
        };
        let mut added = ptr::null_mut();
        // SAFETY: graph, dependencies and handle are those of the capture; the node is written.
        let status = unsafe {
            (self.api.add_node)(
                &mut added,
                graph,
                dependencies.as_ptr(),
                dependencies.len(),
                &mut node,
            )
        };
        self.succeed(gpu, status)?;
        // SAFETY: one node, which was added to the graph of this capture.
        unsafe { self.capture.depend_on(gpu, stream, &mut [added]) }?;
        // SAFETY: the driver has set it to an array of one graph, which lives as long as the node.
        let body = unsafe { node.__bindgen_anon_1.conditional.phGraph_out.as_ref() };
        body.copied()
            .ok_or_else(|| failure(&gpu.name, "recording a loop: its node has no body"))
    }

    fn succeed(&self, gpu: &Gpu, status: c_uint) -> Result<()> {
        let checked = self.capture.check(status);
        checked.map_err(|problem| failure(&gpu.name, format!("recording a loop: {problem}")))
    }
}

/// The number of nodes of graphs, each without the bodies of its loops.
///
/// # Safety
/// The graphs must be alive and in use by this thread only.
pub(crate) unsafe fn count_nodes(
    graphs: impl IntoIterator<Item = CUgraph>,
) -> std::result::Result<usize, DriverError> {
    let mut total = 0;
    for graph in graphs {
        let mut count = 0;
        // SAFETY: the caller's promise; without an array of nodes only their number is written.
        unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &mut count) }.result()?;
        total += count;
    }
    Ok(total)
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
