//! Lowering of a plan to actions on the stream: names of memory, source text, compiled kernels.

use super::action::{self, Action, Step};
use super::custom_kernel::{Constants, CustomKernel};
use super::dependencies;
use super::pieces::{Names, Pieces};
use crate::error::{self, failure};
use crate::gpu::Gpu;
use crate::gpu::group::AllReduceBatch;
use crate::horizontal_fusion::{BoundKernel, Group, fuse};
use crate::kernel_source::{self, Binding, KernelSource, LaunchSize, TooLarge};
use crate::launch::Launch;
use crate::library::driver::Event;
use crate::memory::{DeviceMemory, size};
use crate::op::loops::{self, LoopMemory, Piece, PieceCopy};
use crate::op::{self, LoweredOp, LoweringContext};
use crate::shared::Shared;
use rayon::prelude::*;
use spikelet_graph::op::{Loop, Op};
use spikelet_graph::{Buffer, DType, Location, Plan, Result, TensorType, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

/// A lowered plan, whose memory is given by name.
pub(super) struct Executable {
    /// The constants of custom kernels, if any.
    constants: Option<DeviceMemory>,
    pub(super) steps: Vec<Step>,
    /// Names of the plan's kernels, for errors.
    pub(super) names: Vec<String>,
    /// The steps that each step waits for, if the plan has kernels that shall run at the same time.
    pub(super) dependencies: Option<Vec<Vec<usize>>>,
}

/// Steps other than generated kernels.
enum Other {
    Step(Box<Step>),
    CustomKernel(Box<CustomKernel>),
    Repeat(Box<Repeat>),
}

/// The body of a loop.
struct Repeat {
    body: Vec<Item>,
    count: usize,
    /// The address of the number of steps done.
    counter: u64,
    /// The index of the plan's kernel.
    kernel: usize,
}

/// The events of sums over ranks in flight, by the first of the sums.
type InFlight = HashMap<ValueId, Arc<Event>>;

/// A kernel to be fused with its neighbors, or another step.
type Item = std::result::Result<BoundKernel, Other>;

impl Executable {
    /// Lowers a plan and compiles its kernels.
    pub(super) fn new(shared: &Shared, plan: &Plan) -> Result<Self> {
        let gpu = &shared.gpu;
        let memory = Names {
            inputs: plan.graph.inputs.len(),
            outputs: plan.graph.outputs.len(),
        };
        let address = |place| memory.of(place);
        let mut lowering = Lowering {
            shared,
            constants: Constants::default(),
            names: vec![],
            in_loop: None,
        };
        let mut planned = lowering.kernels(plan, &address)?;
        let last = plan.kernels.len();
        for (from, to, ty) in &plan.copies {
            if ty.bytes() > 0 {
                let action = Action::Copy {
                    from: address(*from),
                    to: address(*to),
                    bytes: ty.bytes(),
                };
                planned.push(Err(Other::Step(Box::new(Step::new(action, last)))));
            }
        }
        let Lowering {
            constants, names, ..
        } = lowering;
        let steps = compile(gpu, fuse(planned), &names, memory.constants())?;
        Ok(Self {
            constants: constants.upload(shared, gpu)?,
            dependencies: dependencies::of_steps(plan, &steps, &address),
            steps,
            names,
        })
    }

    /// The memory of a run.
    pub(super) fn pieces<'a>(
        &self,
        arena: usize,
        inputs: &'a [usize],
        outputs: &'a [usize],
    ) -> Pieces<'a> {
        Pieces {
            arena,
            inputs,
            outputs,
            constants: self.constants.as_ref().map_or(0, |memory| memory.pointer),
        }
    }

    /// The name of the kernel of a step, for errors.
    pub(super) fn name(&self, step: &Step) -> &str {
        self.names.get(step.kernel).map_or("a copy", String::as_str)
    }
}

/// The lowering of a plan and of the bodies of its loops.
struct Lowering<'a> {
    shared: &'a Shared,
    constants: Constants,
    /// Names of the plan's kernels, for errors.
    names: Vec<String>,
    /// The index of the plan's kernel whose body is lowered.
    in_loop: Option<usize>,
}

impl Lowering<'_> {
    /// The kernels of a plan whose locations have these names.
    fn kernels(&mut self, plan: &Plan, address: &dyn Fn(Location) -> u64) -> Result<Vec<Item>> {
        let shared = self.shared;
        let addresses = |places: &[Location]| -> Vec<u64> {
            places.iter().map(|place| address(*place)).collect()
        };
        let fills = op::fills(&plan.graph);
        let mut planned = vec![];
        let mut in_flight = InFlight::new();
        for (index, kernel) in plan.kernels.iter().enumerate() {
            let node = &plan.graph.nodes[kernel.node];
            let (offset, bytes) = kernel.workspace.unwrap_or((0, 0));
            let cx = LoweringContext::of_kernel(shared, plan, kernel, &fills);
            let index = match self.in_loop {
                Some(outer) => outer,
                None => {
                    self.names.push(cx.name());
                    index
                }
            };
            if node
                .outputs
                .iter()
                .all(|v| fills.contains_key(v) && op::is_inlined(&plan.graph, *v))
            {
                continue;
            }
            let at = Place {
                reads: addresses(&kernel.reads),
                writes: addresses(&kernel.writes),
                workspace: address(Location::Arena(offset)),
                bytes,
                kernel: index,
            };
            let lowered = cx.lower()?;
            let body = kernel.body.as_ref().map_or(0, |body| body.arena_bytes);
            let body = body.next_multiple_of(loops::ALIGNMENT);
            at.check(&cx, body.saturating_add(lowered.workspace))?;
            for lowered in lowered.actions()? {
                match (lowered, &node.op, &kernel.body) {
                    (LoweredOp::Repeat, Op::Loop(op), Some(body)) => {
                        let memory = LoopMemory::new(op, body.arena_bytes);
                        let at = &at;
                        planned.extend(self.repeat(&LoopPlace {
                            op,
                            body,
                            memory,
                            at,
                        })?);
                    }
                    (lowered, ..) => planned.push(self.item(lowered, &cx, &at, &mut in_flight)?),
                }
            }
        }
        Ok(planned)
    }

    /// An action of a kernel.
    fn item(
        &mut self,
        lowered: LoweredOp,
        cx: &LoweringContext<'_>,
        at: &Place,
        in_flight: &mut InFlight,
    ) -> Result<Item> {
        let Shared { gpu, gemm, dnn, .. } = self.shared;
        let address_of = |binding| at.address(binding);
        let action = match lowered {
            LoweredOp::Kernel(source) => {
                at.check(cx, source.workspace())?;
                let binding = source.arguments.iter().map(|a| a.binding);
                let bytes = binding.clone().map(|binding| match binding {
                    Binding::Read(k) => cx.inputs[k].bytes(),
                    Binding::Write(k) => cx.outputs[k].bytes(),
                    Binding::Workspace(from) => at.bytes.saturating_sub(from),
                });
                return Ok(Ok(BoundKernel {
                    words: binding.map(address_of).collect(),
                    bytes: bytes.collect(),
                    source,
                    kernel: at.kernel,
                }));
            }
            LoweredOp::CustomKernel(kernel) => {
                let custom = CustomKernel::new(kernel, at.kernel, &mut self.constants, address_of);
                return Ok(Err(Other::CustomKernel(Box::new(custom))));
            }
            LoweredOp::Gemm {
                product,
                a,
                b,
                workspace,
            } => {
                let call = gemm.call(product)?;
                at.check(cx, workspace.saturating_add(call.plan.workspace))?;
                Action::Gemm {
                    call,
                    a: at.address(a),
                    b: at.address(b),
                    y: at.writes[0],
                    workspace: at.address(Binding::Workspace(workspace)),
                }
            }
            LoweredOp::Conv {
                convolution,
                a,
                b,
                workspace,
            } => {
                let call = dnn.call(&convolution)?;
                at.check(cx, workspace.saturating_add(call.workspace()))?;
                Action::Conv {
                    call,
                    a: at.address(a),
                    b: at.address(b),
                    y: at.writes[0],
                    workspace: at.address(Binding::Workspace(workspace)),
                }
            }
            LoweredOp::Clear(k) => Action::Clear {
                to: at.writes[k],
                bytes: cx.outputs[k].bytes(),
            },
            LoweredOp::AllReduceStart { ranks } => {
                let group = op::all_reduce::group(ranks, gpu, cx)?;
                let counts = cx.inputs.iter().map(TensorType::len);
                let tensors = at.reads.iter().zip(&at.writes).zip(counts);
                let tensors = tensors.filter(|(_, count)| *count > 0);
                let tensors = tensors.map(|((from, to), count)| (*from, *to, count));
                let sums = AllReduceBatch::new(gpu, tensors.collect())?;
                in_flight.insert(cx.node.outputs[0], sums.done());
                Action::AllReduceStart { group, sums }
            }
            LoweredOp::AllReduceDone => match in_flight.remove(&cx.node.inputs[0]) {
                Some(done) => Action::AllReduceDone(done),
                None => return Err(cx.refuse("it has no matching all-reduce-start")),
            },
            LoweredOp::Repeat => return Err(cx.refuse("it has no plan of its body")),
        };
        Ok(Err(Other::Step(Box::new(Step::new(action, at.kernel)))))
    }

    /// The steps of a loop: what comes before the first step, and the repeated body.
    fn repeat(&mut self, place: &LoopPlace<'_>) -> Result<Vec<Item>> {
        let LoopPlace { op, body, at, .. } = place;
        let (carried, sequences) = (op.body.carried_count(), op.body.sequence_count());
        let counter = place.in_workspace(place.memory.counter);
        let ty = |k: usize| body.graph.ty(body.graph.inputs[k].value).clone();
        let step = |action| Err(Other::Step(Box::new(Step::new(action, at.kernel))));
        let bound = |kernels: Vec<(KernelSource, Vec<(u64, usize)>)>| {
            kernels.into_iter().map(|(source, addresses)| {
                let (words, bytes) = addresses.into_iter().unzip();
                Ok(BoundKernel {
                    source,
                    words,
                    bytes,
                    kernel: at.kernel,
                })
            })
        };
        let load = |piece: Piece| {
            (0..sequences).map(move |k| PieceCopy {
                from: at.reads[carried + k],
                to: place.in_workspace(place.memory.sequences[k]),
                ty: ty(carried + k),
                piece,
            })
        };
        let mut planned = vec![step(Action::Clear {
            to: counter,
            bytes: 8,
        })];
        let mut first: Vec<PieceCopy> = (0..carried)
            .map(|k| PieceCopy {
                from: at.reads[k],
                to: at.writes[k],
                ty: ty(k),
                piece: Piece::Whole,
            })
            .collect();
        if op.length > 0 {
            first.extend(load(Piece::Load));
        }
        planned.extend(bound(loops::copy_kernels(op, counter, &first)));

        let address = |at: Location| place.address(at);
        let outer = self.in_loop.replace(at.kernel);
        let lowered = self.kernels(body, &address);
        self.in_loop = outer;
        let mut repeated = lowered?;
        // A result that is a piece of a sequence is copied before the next piece is loaded.
        let is_piece = |from: &Location| matches!(from, Location::Input(k) if (carried..carried + sequences).contains(k));
        let copy = |from: Location, to: Location, ty: &TensorType| PieceCopy {
            from: place.address(from),
            to: place.address(to),
            ty: ty.clone(),
            piece: Piece::Whole,
        };
        let (early, late): (Vec<_>, Vec<_>) =
            body.copies.iter().partition(|(from, _, _)| is_piece(from));
        let early = early.iter().map(|(from, to, ty)| copy(*from, *to, ty));
        repeated.extend(bound(loops::copy_kernels(
            op,
            counter,
            &early.collect::<Vec<_>>(),
        )));
        let mut last = vec![];
        let mut sources: Vec<u64> = (place.memory.stacked.iter())
            .map(|offset| place.in_workspace(*offset))
            .collect();
        for (from, to, ty) in late {
            match to {
                Location::Output(k) if *k >= carried => sources[k - carried] = place.address(*from),
                _ => last.push(copy(*from, *to, ty)),
            }
        }
        let stacked = op.body.stacked_outputs().zip(sources).enumerate();
        last.extend(stacked.map(|(k, (value, from))| PieceCopy {
            from,
            to: at.writes[carried + k],
            ty: op.body.graph().ty(value).clone(),
            piece: Piece::Store,
        }));
        last.extend(load(Piece::LoadNext));
        repeated.extend(bound(loops::copy_kernels(op, counter, &last)));
        repeated.extend(bound(vec![loops::advance(counter)]));
        planned.push(Err(Other::Repeat(Box::new(Repeat {
            body: repeated,
            count: op.length,
            counter,
            kernel: at.kernel,
        }))));
        Ok(planned)
    }
}

/// The addresses of a kernel.
struct Place {
    reads: Vec<u64>,
    writes: Vec<u64>,
    /// The workspace and its size.
    workspace: u64,
    bytes: usize,
    /// The index of the plan's kernel.
    kernel: usize,
}

impl Place {
    fn address(&self, binding: Binding) -> u64 {
        match binding {
            Binding::Read(k) => self.reads[k],
            Binding::Write(k) => self.writes[k],
            Binding::Workspace(from) => self.workspace + from as u64,
        }
    }

    /// Rejects a workspace that would overwrite other values.
    fn check(&self, cx: &LoweringContext<'_>, needed: usize) -> Result<()> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(cx.refuse(&format!(
            "it needs a workspace of {needed} bytes, the plan has {}; create the plan again for this device",
            self.bytes
        )))
    }
}

/// A loop with its addresses.
struct LoopPlace<'a> {
    op: &'a Loop,
    body: &'a Plan,
    memory: LoopMemory,
    at: &'a Place,
}

impl LoopPlace<'_> {
    fn in_workspace(&self, offset: usize) -> u64 {
        self.at.workspace + offset as u64
    }

    /// The address of a value of the body.
    fn address(&self, place: Location) -> u64 {
        let carried = self.op.body.carried_count();
        let sequences = self.op.body.sequence_count();
        match place {
            Location::Arena(offset) => self.in_workspace(offset),
            Location::Input(k) if k < carried => self.at.writes[k],
            Location::Input(k) if k < carried + sequences => {
                self.in_workspace(self.memory.sequences[k - carried])
            }
            Location::Input(k) => self.at.reads[k],
            // Carried outputs are in the memory of the inputs that they update.
            Location::Output(k) if k < carried => self.at.writes[k],
            Location::Output(k) => self.in_workspace(self.memory.stacked[k - carried]),
            Location::InputAt(k, offset) => self.address(Location::Input(k)) + offset as u64,
            Location::OutputAt(k, offset) => self.address(Location::Output(k)) + offset as u64,
            Location::Unused => 0,
        }
    }
}

/// Allocates the arena; an out-of-memory error has the size of the plan and advice.
pub(crate) fn arena(gpu: &Arc<Gpu>, plan: &Plan) -> Result<Buffer> {
    let what = format!(
        "the plan's arena (its peak with all buffers is {})",
        size(plan.peak_bytes())
    );
    let memory = DeviceMemory::or_advise(gpu, plan.arena_bytes, &what, || {
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
    })?;
    Ok(Buffer {
        ty: TensorType::new(DType::I64, [plan.arena_bytes / 8]),
        handle: Arc::new(memory),
    })
}

/// Compiles kernels that are not cached, several at a time.
fn compile(
    gpu: &Gpu,
    groups: Vec<Group<Other>>,
    names: &[String],
    constants: u64,
) -> Result<Vec<Step>> {
    let too_large =
        |kernel: usize, error: TooLarge| failure(&gpu.name, format!("{}: {error}", names[kernel]));
    let launch = |kernels: Vec<BoundKernel>, name: String, source: String, at: LaunchSize| {
        let function = gpu.function(&source, &name)?;
        let (grid, block, shared) = at;
        gpu.allow_shared(&function, shared)?;
        let mut launch = Launch::new(&name, function, grid, [block, 1, 1]);
        let (first, last) = (kernels[0].kernel, kernels[kernels.len() - 1].kernel);
        launch.shared = shared;
        for word in kernels.into_iter().flat_map(|d| d.words) {
            launch.name(word);
        }
        Ok(Step {
            action: Action::Launch(launch),
            kernel: first,
            last,
        })
    };
    let sources = |kernels: &[BoundKernel]| -> Vec<KernelSource> {
        kernels.iter().map(|d| d.source.clone()).collect()
    };
    groups
        .into_par_iter()
        .map(|group| match group {
            Group::Other(Other::Step(step)) => Ok(*step),
            Group::Other(Other::Repeat(repeat)) => {
                let Repeat {
                    body,
                    count,
                    counter,
                    kernel,
                } = *repeat;
                let body = compile(gpu, fuse(body), names, constants)?;
                let action = Action::Repeat(action::Repeat {
                    body,
                    count,
                    counter,
                });
                Ok(Step::new(action, kernel))
            }
            Group::Other(Other::CustomKernel(custom)) => {
                let kernel = custom.index;
                let launch = custom.launch(gpu, constants);
                let launch = launch.map_err(|e| error::of(&names[kernel], e))?;
                Ok(Step::new(Action::Launch(launch), kernel))
            }
            Group::Single(kernel) => {
                let at = kernel.source.launch();
                let at = at.map_err(|error| too_large(kernel.kernel, error))?;
                let source = kernel_source::source(&kernel.source);
                let name = kernel.source.name.clone();
                launch(vec![*kernel], name, source, at)
            }
            Group::Sequential(kernels) => {
                let name = "spk_sequential".to_string();
                let source = kernel_source::small_source(&sources(&kernels), &name);
                launch(
                    kernels,
                    name,
                    source,
                    ([1, 1, 1], kernel_source::SMALL_BLOCK, 0),
                )
            }
            Group::Horizontal(kernels) => {
                let name = "spk_horizontal".to_string();
                let fused = kernel_source::wide_source(&sources(&kernels), &name);
                let (source, at) = fused.map_err(|error| too_large(kernels[0].kernel, error))?;
                launch(kernels, name, source, at)
            }
        })
        .collect()
}
