//! A loaded plan: its arena, its launches, and the CUDA graph that replays them.

mod action;
mod callable;
mod custom_kernel;
mod dependencies;
mod pieces;
mod planning;

use crate::error::{Context, failure, in_context};
use crate::gpu::Gpu;
use crate::launch;
use crate::library::driver::{CUgraphNode, Graph, TIMED};
use crate::memory::memory_of;
use crate::shared::Shared;
use crate::while_nodes::WhileNodes;
use action::{LoopRecorder, Starter, recorded_loops};
pub use callable::CallablePlan;
use planning::Executable;
pub(crate) use planning::arena;
use spikelet_graph::{Bound, Buffer, Executor, Plan, Result};
use std::cell::RefCell;
use std::sync::Arc;

pub(crate) struct CudaExecutor {
    shared: Arc<Shared>,
    arena_bytes: usize,
    executable: Executable,
    /// The addresses of the arena, the inputs and the outputs.
    arena: usize,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    graph: Option<Recorded>,
    /// Whether the first run, kernel by kernel, is done.
    ran_once: bool,
    /// Whether every run is kernel by kernel.
    check: bool,
    /// Keeps the memory behind the addresses alive.
    _buffers: Vec<Buffer>,
}

/// A captured run.
struct Recorded {
    graph: Graph,
    /// The nodes of the graph and of the bodies of its loops.
    nodes: usize,
}

impl CudaExecutor {
    /// Binds a plan that was checked, for this GPU and with these buffers.
    pub(crate) fn new(shared: Arc<Shared>, plan: &Plan, bound: Bound<'_>) -> Result<Self> {
        let address = |buffer: &Buffer| Ok(memory_of(&shared.gpu, buffer)?.pointer as usize);
        let inputs = bound.inputs.iter().map(address).collect::<Result<_>>()?;
        let outputs = bound.outputs.iter();
        let outputs = outputs.map(|buffer| buffer.as_ref().map_or(Ok(0), address));
        let outputs = outputs.collect::<Result<_>>()?;
        let arena = address(bound.arena)?;
        let executable = Executable::new(&shared, plan)?;
        shared.unload_unused()?;
        shared.forget_unused_plans()?;
        Ok(Self {
            arena_bytes: plan.arena_bytes,
            executable,
            arena,
            inputs,
            outputs,
            graph: None,
            ran_once: false,
            check: launch::is_checked(),
            _buffers: bound
                .inputs
                .iter()
                .chain(bound.outputs.iter().flatten())
                .chain([bound.arena])
                .cloned()
                .collect(),
            shared,
        })
    }

    fn gpu(&self) -> &Arc<Gpu> {
        &self.shared.gpu
    }

    fn starter<'a>(&'a self, recorder: Option<LoopRecorder<'a>>) -> Starter<'a> {
        let pieces = (self.executable).pieces(self.arena, &self.inputs, &self.outputs);
        Starter::new(self.gpu(), &self.gpu().stream, pieces, recorder)
    }

    /// Enqueues all work on the stream; with `wait`, waits for each kernel and names the one that
    /// fails. With a recorder, long loops become nodes of the graph that is captured.
    fn start_all(&self, wait: bool, recorder: Option<LoopRecorder<'_>>) -> Result<()> {
        let gpu = self.gpu();
        let starter = self.starter(recorder);
        for step in &self.executable.steps {
            // SAFETY: the addresses point into the arena, the constants and the buffers that self
            // keeps alive; the plan was checked, and its kernels are generated for these types. The
            // arguments of a custom operation's kernels were compared with the parameters; the
            // author of its code has promised that they stay within their tensors.
            unsafe { starter.start(&step.action) }?;
            if wait {
                gpu.stream.synchronize().map_err(|error| {
                    let name = self.executable.name(step);
                    failure(&gpu.name, format!("kernel {name} failed: {error}"))
                })?;
            }
        }
        Ok(())
    }

    /// Enqueues all work on the stream, which is captured: each step behind those that it waits for.
    fn start_concurrently(
        &self,
        dependencies: &[Vec<usize>],
        recorder: Option<LoopRecorder<'_>>,
    ) -> Result<()> {
        let gpu = self.gpu();
        let in_context = in_context(&gpu.name, "recording a graph");
        let starter = self.starter(recorder);
        // The nodes after which each step is complete.
        let mut complete: Vec<Vec<CUgraphNode>> = vec![];
        for (step, waits_for) in self.executable.steps.iter().zip(dependencies) {
            let nodes = waits_for.iter().flat_map(|k| &complete[*k]);
            let mut nodes: Vec<CUgraphNode> = nodes.copied().collect();
            nodes.sort_unstable();
            nodes.dedup();
            // SAFETY: the nodes were captured by this stream since its capture began; the rest as in `start_all`.
            unsafe {
                gpu.stream.depend_on(&mut nodes).map_err(&in_context)?;
                starter.start(&step.action)?;
            }
            complete.push(gpu.stream.captured().map_err(&in_context)?.1);
        }
        // The end of the capture depends on all steps: sums over ranks run on another stream, which has to be joined.
        let mut last = complete.concat();
        last.sort_unstable();
        last.dedup();
        // SAFETY: as above.
        unsafe { gpu.stream.depend_on(&mut last) }.map_err(in_context)
    }

    /// Records a run. Where the driver has no loops in graphs, or cannot have one of these, their steps are
    /// recorded one by one.
    fn record(&self) -> Result<Option<Recorded>> {
        let _capturing = self.gpu().captures.capturing();
        let depth = recorded_loops(&self.executable.steps);
        let nodes = match depth {
            0 => None,
            _ => self.shared.while_nodes(),
        };
        if let Some(nodes) = nodes {
            match self.record_with_loops(nodes, depth) {
                Ok(recorded) => return Ok(recorded),
                Err(error) => tracing::debug!("loops are recorded step by step: {error}"),
            }
        }
        self.capture(None)
    }

    fn record_with_loops(&self, nodes: &WhileNodes, depth: usize) -> Result<Option<Recorded>> {
        let gpu = self.gpu();
        let stream = |_| {
            let stream = gpu.context.new_stream();
            stream.context(&gpu.name, "creating a stream")
        };
        let streams = (0..depth).map(stream).collect::<Result<Vec<_>>>()?;
        self.capture(Some(LoopRecorder {
            nodes,
            streams: &streams,
            bodies: &RefCell::default(),
        }))
    }

    fn capture(&self, recorder: Option<LoopRecorder<'_>>) -> Result<Option<Recorded>> {
        let gpu = self.gpu();
        let error = in_context(&gpu.name, "recording the plan");
        let graph = gpu
            .stream
            .capture(error, || match &self.executable.dependencies {
                Some(dependencies) => self.start_concurrently(dependencies, recorder),
                None => self.start_all(false, recorder),
            })?;
        let Some(graph) = graph else {
            return Ok(None);
        };
        let bodies = recorder.map_or(vec![], |recorder| recorder.bodies.take());
        // SAFETY: this thread has just recorded the graph, to which the bodies belong.
        let nodes = unsafe { graph.count_nodes(&bodies) };
        Ok(Some(Recorded {
            nodes: nodes.context(&gpu.name, "counting the nodes of a graph")?,
            graph,
        }))
    }
}

impl Drop for CudaExecutor {
    fn drop(&mut self) {
        // A group's communicator is destroyed only when no captured graph refers to it: the graph is
        // dropped before what may be the last handle of the group.
        self.graph = None;
    }
}

impl Executor for CudaExecutor {
    fn run(&mut self) -> Result<()> {
        let shared = self.shared.clone();
        let gpu = &shared.gpu;
        let _lock = shared.lock_stream()?;
        gpu.check_group()?;
        if self.check || !self.ran_once {
            self.start_all(true, None)?;
            self.ran_once = true;
            return gpu.check_group();
        }
        if self.graph.is_none() {
            self.graph = self.record()?;
        }
        match &self.graph {
            Some(recorded) => recorded
                .graph
                .launch()
                .context(&gpu.name, "replaying the plan"),
            None => Ok(()),
        }
    }

    fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    fn recorded_nodes(&self) -> Option<usize> {
        self.graph.as_ref().map(|recorded| recorded.nodes)
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let shared = self.shared.clone();
        let gpu = &shared.gpu;
        let _lock = shared.lock_stream()?;
        gpu.synchronize()?;
        let event = || {
            gpu.stream
                .record_event(TIMED)
                .context(&gpu.name, "recording an event")
        };
        let mut events = vec![event()?];
        let starter = self.starter(None);
        for step in &self.executable.steps {
            // SAFETY: as in `start_all`.
            unsafe { starter.start(&step.action) }?;
            events.push(event()?);
        }
        gpu.synchronize()?;
        let mut seconds = vec![0.0; self.executable.names.len()];
        for (step, pair) in self.executable.steps.iter().zip(events.windows(2)) {
            let ms = pair[0]
                .elapsed_ms(&pair[1])
                .context(&gpu.name, "reading a timer")?;
            if let Some(total) = seconds.get_mut(step.kernel) {
                *total += f64::from(ms) / 1e3;
            }
        }
        Ok(seconds)
    }
}
