//! A loaded plan: its arena, its launches, and the graph that replays them all at once.

use crate::backend::{Shared, memory_of};
use crate::dnn::ConvCall;
use crate::error::{Doing, describe, failure};
use crate::gemm::GemmCall;
use crate::gpu::Gpu;
use crate::join::{Draft, Group, join};
use crate::launch::{self, Launch};
use crate::memory::{DeviceMemory, size};
use crate::op::{self, Site, Work};
use crate::piece::{self, Launched, Leads, Piece};
use cudarc::driver::sys::{CUevent_flags, CUgraphInstantiate_flags_enum, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, result};
use rayon::prelude::*;
use spikelet_graph::{Buffer, Executor, Place, Plan, Result};
use std::sync::Arc;

/// Something that the stream runs.
enum Action {
    Launch(Launch),
    Gemm {
        call: GemmCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Conv {
        call: ConvCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Clear {
        to: u64,
        bytes: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
}

/// An action and the plan's kernel that it belongs to.
struct Step {
    action: Action,
    kernel: usize,
}

pub(crate) struct CudaExecutor {
    shared: Arc<Shared>,
    arena: DeviceMemory,
    steps: Vec<Step>,
    /// Names of the plan's kernels, for errors.
    names: Vec<String>,
    graph: Option<CudaGraph>,
    /// Whether the plan has run once, kernel by kernel.
    proved: bool,
    /// Whether every run is kernel by kernel.
    check: bool,
    /// Keeps the memory behind the addresses alive.
    _buffers: Vec<Buffer>,
}

impl CudaExecutor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
    ) -> Result<Self> {
        let gpu = shared.gpu.clone();
        plan.check()?;
        plan.check_buffers(inputs, outputs)?;
        let arena = arena(&gpu, plan)?;
        let address = |place: Place| -> Result<u64> {
            Ok(match place {
                Place::Arena(offset) => arena.pointer + offset as u64,
                Place::Input(k) => memory_of(&gpu, &inputs[k])?.pointer,
                Place::Output(k) => match &outputs[k] {
                    Some(buffer) => memory_of(&gpu, buffer)?.pointer,
                    None => 0,
                },
                Place::Unused => 0,
            })
        };
        let addresses = |places: &[Place]| -> Result<Vec<u64>> {
            places.iter().map(|place| address(*place)).collect()
        };
        let fills = op::fills(&plan.graph);
        let mut planned = vec![];
        let mut names = vec![];
        for (number, kernel) in plan.kernels.iter().enumerate() {
            let node = &plan.graph.nodes[kernel.node];
            let wanted = kernel.writes.iter().map(|w| *w != Place::Unused).collect();
            let mut site = Site::new(&gpu.properties, &plan.graph, node, wanted);
            site.constants = node.inputs.iter().map(|v| fills.get(v).copied()).collect();
            let (reads, writes) = (addresses(&kernel.reads)?, addresses(&kernel.writes)?);
            let (offset, room) = kernel.workspace.unwrap_or((0, 0));
            let workspace = arena.pointer + offset as u64;
            names.push(site.name());
            if node
                .outputs
                .iter()
                .all(|v| fills.contains_key(v) && op::is_inlined(&plan.graph, *v))
            {
                continue;
            }
            let lead = |leads: Leads| match leads {
                Leads::Read(k) => reads[k],
                Leads::Write(k) => writes[k],
                Leads::Workspace(at) => workspace + at as u64,
            };
            for work in op::prepare(&shared, &site)? {
                let step = |action| {
                    Err(Step {
                        action,
                        kernel: number,
                    })
                };
                planned.push(match work {
                    Work::Kernel(piece) => {
                        let leads = piece.arguments.iter().map(|a| a.leads);
                        let bytes = leads.clone().map(|leads| match leads {
                            Leads::Read(k) => site.inputs[k].bytes(),
                            Leads::Write(k) => site.outputs[k].bytes(),
                            Leads::Workspace(at) => room.saturating_sub(at),
                        });
                        Ok(Draft {
                            words: leads.map(lead).collect(),
                            bytes: bytes.collect(),
                            piece,
                            kernel: number,
                        })
                    }
                    Work::Gemm {
                        call,
                        a,
                        b,
                        workspace: at,
                    } => step(Action::Gemm {
                        call,
                        a: lead(a),
                        b: lead(b),
                        y: writes[0],
                        workspace: workspace + at as u64,
                    }),
                    Work::Conv {
                        call,
                        a,
                        b,
                        workspace: at,
                    } => step(Action::Conv {
                        call,
                        a: lead(a),
                        b: lead(b),
                        y: writes[0],
                        workspace: workspace + at as u64,
                    }),
                    Work::Clear(k) => step(Action::Clear {
                        to: writes[k],
                        bytes: site.outputs[k].bytes(),
                    }),
                });
            }
        }
        let mut steps = compile(&gpu, join(planned))?;
        let last = plan.kernels.len();
        for (from, to, ty) in &plan.copies {
            if ty.bytes() > 0 {
                let action = Action::Copy {
                    from: address(*from)?,
                    to: address(*to)?,
                    bytes: ty.bytes(),
                };
                steps.push(Step {
                    action,
                    kernel: last,
                });
            }
        }
        Ok(Self {
            arena,
            steps,
            names,
            graph: None,
            proved: false,
            check: launch::is_checked(),
            _buffers: inputs
                .iter()
                .chain(outputs.iter().flatten())
                .cloned()
                .collect(),
            shared,
        })
    }

    fn gpu(&self) -> &Gpu {
        &self.shared.gpu
    }

    /// Starts everything on the stream; with `wait`, waits for each kernel and names the one that
    /// fails.
    fn start_all(&self, wait: bool) -> Result<()> {
        let gpu = self.gpu();
        for step in &self.steps {
            // SAFETY: the addresses lead into the arena and the buffers that self keeps alive;
            // the plan is sound, and its kernels were written for these types.
            unsafe { start(gpu, &step.action) }?;
            if wait {
                gpu.stream.synchronize().map_err(|error| {
                    let name = self.names.get(step.kernel).map_or("a copy", String::as_str);
                    failure(
                        &gpu.name,
                        format!("kernel {name} failed: {}", describe(&error)),
                    )
                })?;
            }
        }
        Ok(())
    }

    fn capture(&self) -> Result<Option<CudaGraph>> {
        let gpu = self.gpu();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        gpu.stream
            .begin_capture(mode)
            .doing(&gpu.name, "recording the plan")?;
        let started = self.start_all(false);
        let flags = CUgraphInstantiate_flags_enum::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = gpu
            .stream
            .end_capture(flags)
            .doing(&gpu.name, "recording the plan");
        started?;
        graph
    }
}

/// The arena, or an error that says what the plan needs and what would lower it.
fn arena(gpu: &Arc<Gpu>, plan: &Plan) -> Result<DeviceMemory> {
    let what = format!(
        "the plan's arena (its peak with all buffers is {})",
        size(plan.peak_bytes())
    );
    DeviceMemory::or_advise(gpu, plan.arena_bytes, &what, || {
        let mut largest: Vec<_> = plan.allocations.iter().collect();
        largest.sort_by_key(|a| std::cmp::Reverse(a.bytes));
        let named: Vec<String> = largest
            .iter()
            .take(3)
            .filter_map(|a| {
                a.value
                    .map(|v| format!("{} ({})", plan.graph.ty(v), size(a.bytes)))
            })
            .collect();
        format!(
            "; its largest tensors are {}; a smaller batch, fewer time steps or --precision bf16 lower it",
            named.join(", ")
        )
    })
}

/// Compiles what is not compiled yet, several kernels at a time.
fn compile(gpu: &Gpu, groups: Vec<Group<Step>>) -> Result<Vec<Step>> {
    let launch = |drafts: Vec<Draft>, name: String, source: String, at: Launched| {
        let function = gpu.function(&source, &name)?;
        let (grid, block, shared) = at;
        gpu.allow_shared(&function, shared)?;
        let mut launch = Launch::new(&name, function, grid, [block, 1, 1]);
        let kernel = drafts[0].kernel;
        launch.shared = shared;
        launch.words = drafts.into_iter().flat_map(|d| d.words).collect();
        Ok(Step {
            action: Action::Launch(launch),
            kernel,
        })
    };
    let pieces =
        |drafts: &[Draft]| -> Vec<Piece> { drafts.iter().map(|d| d.piece.clone()).collect() };
    groups
        .into_par_iter()
        .map(|group| match group {
            Group::Other(step) => Ok(step),
            Group::Single(draft) => {
                let (source, at) = (piece::source(&draft.piece), draft.piece.launch());
                let name = draft.piece.name.clone();
                launch(vec![draft], name, source, at)
            }
            Group::InTurn(drafts) => {
                let name = "spk_small".to_string();
                let source = piece::small_source(&pieces(&drafts), &name);
                launch(
                    drafts,
                    name,
                    source,
                    ([1, 1, 1], piece::SMALL_BLOCK as u32, 0),
                )
            }
            Group::SideBySide(drafts) => {
                let name = "spk_side_by_side".to_string();
                let (source, at) = piece::wide_source(&pieces(&drafts), &name);
                launch(drafts, name, source, at)
            }
        })
        .collect()
}

/// Starts one action.
///
/// # Safety
/// Its addresses must lead to memory of the sizes that it was planned for.
unsafe fn start(gpu: &Gpu, action: &Action) -> Result<()> {
    let stream = gpu.stream.cu_stream();
    // SAFETY: the caller's promise.
    unsafe {
        match action {
            Action::Launch(launch) => launch.run(gpu),
            Action::Gemm {
                call,
                a,
                b,
                y,
                workspace,
            } => call.run(gpu, *a, *b, *y, *workspace),
            Action::Conv {
                call,
                a,
                b,
                y,
                workspace,
            } => call.run(gpu, *a, *b, *y, *workspace),
            Action::Clear { to, bytes } => {
                result::memset_d8_async(*to, 0, *bytes, stream).doing(&gpu.name, "clearing memory")
            }
            Action::Copy { from, to, bytes } => {
                result::memcpy_dtod_async(*to, *from, *bytes, stream)
                    .doing(&gpu.name, "copying a result")
            }
        }
    }
}

impl Executor for CudaExecutor {
    fn run(&mut self) -> Result<()> {
        let shared = self.shared.clone();
        let gpu = &shared.gpu;
        let _alone = shared.stream_alone()?;
        if self.check || !self.proved {
            self.start_all(true)?;
            self.proved = true;
            return Ok(());
        }
        if self.graph.is_none() {
            self.graph = self.capture()?;
        }
        match &self.graph {
            Some(graph) => graph.launch().doing(&gpu.name, "replaying the plan"),
            None => Ok(()),
        }
    }

    fn arena_bytes(&self) -> usize {
        self.arena.bytes
    }

    fn profile(&mut self) -> Result<Vec<f64>> {
        let shared = self.shared.clone();
        let gpu = &shared.gpu;
        let _alone = shared.stream_alone()?;
        gpu.synchronize()?;
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let event = || {
            gpu.stream
                .record_event(flags)
                .doing(&gpu.name, "recording an event")
        };
        let mut events = vec![event()?];
        for step in &self.steps {
            // SAFETY: as in `start_all`.
            unsafe { start(gpu, &step.action) }?;
            events.push(event()?);
        }
        gpu.synchronize()?;
        let mut seconds = vec![0.0; self.names.len()];
        for (step, pair) in self.steps.iter().zip(events.windows(2)) {
            let ms = pair[0]
                .elapsed_ms(&pair[1])
                .doing(&gpu.name, "reading a timer")?;
            if let Some(total) = seconds.get_mut(step.kernel) {
                *total += f64::from(ms) / 1e3;
            }
        }
        Ok(seconds)
    }
}
