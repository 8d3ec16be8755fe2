//! Lowering of a plan to actions on the stream: addresses, source text, compiled kernels.

use super::action::{Action, Step};
use super::custom_kernel::{Constants, CustomKernel};
use crate::error::{self, failure};
use crate::gpu::Gpu;
use crate::gpu::group::AllReduceBatch;
use crate::horizontal_fusion::{BoundKernel, Group, fuse};
use crate::kernel_source::{self, Binding, KernelSource, LaunchSize, TooLarge};
use crate::launch::Launch;
use crate::memory::memory_of;
use crate::memory::{DeviceMemory, size};
use crate::op::{self, LoweredOp, LoweringContext};
use crate::shared::Shared;
use cudarc::driver::CudaEvent;
use rayon::prelude::*;
use spikelet_graph::{Bound, Buffer, DType, Location, Plan, Result, TensorType, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

/// A lowered plan.
pub(super) struct Planned {
    /// The constants of custom kernels, if any.
    pub(super) constants: Option<DeviceMemory>,
    pub(super) steps: Vec<Step>,
    /// Names of the plan's kernels, for errors.
    pub(super) names: Vec<String>,
}

/// Steps other than generated kernels.
enum Other {
    Step(Box<Step>),
    CustomKernel(Box<CustomKernel>),
}

pub(super) fn plan(shared: &Shared, plan: &Plan, bound: Bound<'_>) -> Result<Planned> {
    let gpu = &shared.gpu;
    let Bound {
        inputs, outputs, ..
    } = bound;
    let arena = memory_of(gpu, bound.arena)?;
    let address = |place: Location| -> Result<u64> {
        Ok(match place {
            Location::Arena(offset) => arena.pointer + offset as u64,
            Location::Input(k) => memory_of(gpu, &inputs[k])?.pointer,
            Location::Output(k) => match &outputs[k] {
                Some(buffer) => memory_of(gpu, buffer)?.pointer,
                None => 0,
            },
            Location::Unused => 0,
        })
    };
    let addresses = |places: &[Location]| -> Result<Vec<u64>> {
        places.iter().map(|place| address(*place)).collect()
    };
    let fills = op::fills(&plan.graph);
    let mut planned = vec![];
    let mut names = vec![];
    let mut constants = Constants::default();
    // The events of sums over ranks in flight, by the first of the sums.
    let mut in_flight: HashMap<ValueId, Arc<CudaEvent>> = HashMap::new();
    for (index, kernel) in plan.kernels.iter().enumerate() {
        let node = &plan.graph.nodes[kernel.node];
        let wanted = kernel
            .writes
            .iter()
            .map(|w| *w != Location::Unused)
            .collect();
        let (offset, workspace_bytes) = kernel.workspace.unwrap_or((0, 0));
        let mut cx = LoweringContext::new(&gpu.properties, &plan.graph, node, wanted);
        cx.constants = node.inputs.iter().map(|v| fills.get(v).copied()).collect();
        cx.workspace_bytes = workspace_bytes;
        let (reads, writes) = (addresses(&kernel.reads)?, addresses(&kernel.writes)?);
        let workspace = arena.pointer + offset as u64;
        names.push(cx.name());
        if node
            .outputs
            .iter()
            .all(|v| fills.contains_key(v) && op::is_inlined(&plan.graph, *v))
        {
            continue;
        }
        let address_of = |binding: Binding| match binding {
            Binding::Read(k) => reads[k],
            Binding::Write(k) => writes[k],
            Binding::Workspace(at) => workspace + at as u64,
        };
        for lowered in op::lower(shared, &cx)? {
            let step = |action| {
                let kernel = index;
                Err(Other::Step(Box::new(Step { action, kernel })))
            };
            planned.push(match lowered {
                LoweredOp::Kernel(source) => {
                    let binding = source.arguments.iter().map(|a| a.binding);
                    let bytes = binding.clone().map(|binding| match binding {
                        Binding::Read(k) => cx.inputs[k].bytes(),
                        Binding::Write(k) => cx.outputs[k].bytes(),
                        Binding::Workspace(at) => workspace_bytes.saturating_sub(at),
                    });
                    Ok(BoundKernel {
                        words: binding.map(address_of).collect(),
                        bytes: bytes.collect(),
                        source,
                        kernel: index,
                    })
                }
                LoweredOp::CustomKernel(kernel) => {
                    let custom = CustomKernel::new(kernel, index, &mut constants, address_of);
                    Err(Other::CustomKernel(Box::new(custom)))
                }
                LoweredOp::Gemm {
                    call,
                    a,
                    b,
                    workspace: at,
                } => step(Action::Gemm {
                    call,
                    a: address_of(a),
                    b: address_of(b),
                    y: writes[0],
                    workspace: workspace + at as u64,
                }),
                LoweredOp::Conv {
                    call,
                    a,
                    b,
                    workspace: at,
                } => step(Action::Conv {
                    call,
                    a: address_of(a),
                    b: address_of(b),
                    y: writes[0],
                    workspace: workspace + at as u64,
                }),
                LoweredOp::Clear(k) => step(Action::Clear {
                    to: writes[k],
                    bytes: cx.outputs[k].bytes(),
                }),
                LoweredOp::AllReduceStart(group) => {
                    let counts = cx.inputs.iter().map(TensorType::len);
                    let tensors = reads.iter().zip(&writes).zip(counts);
                    let tensors = tensors.filter(|(_, count)| *count > 0);
                    let tensors = tensors.map(|((from, to), count)| (*from, *to, count));
                    let sums = AllReduceBatch::new(gpu, tensors.collect())?;
                    in_flight.insert(node.outputs[0], sums.done());
                    step(Action::AllReduceStart { group, sums })
                }
                LoweredOp::AllReduceDone => match in_flight.remove(&node.inputs[0]) {
                    Some(done) => step(Action::AllReduceDone(done)),
                    None => {
                        return Err(failure(
                            &gpu.name,
                            "all-reduce-done without a matching all-reduce-start",
                        ));
                    }
                },
            });
        }
    }
    let constants = constants.upload(shared, gpu)?;
    let base = constants.as_ref().map_or(0, |memory| memory.pointer);
    let mut steps = compile(gpu, fuse(planned), &names, base)?;
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
    Ok(Planned {
        constants,
        steps,
        names,
    })
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
        let kernel = kernels[0].kernel;
        launch.shared = shared;
        for word in kernels.into_iter().flat_map(|d| d.words) {
            launch.word(word);
        }
        Ok(Step {
            action: Action::Launch(launch),
            kernel,
        })
    };
    let sources = |kernels: &[BoundKernel]| -> Vec<KernelSource> {
        kernels.iter().map(|d| d.source.clone()).collect()
    };
    groups
        .into_par_iter()
        .map(|group| match group {
            Group::Other(Other::Step(step)) => Ok(*step),
            Group::Other(Other::CustomKernel(custom)) => {
                let kernel = custom.index;
                let launch = custom.launch(gpu, constants);
                Ok(Step {
                    action: Action::Launch(launch.map_err(|e| error::of(&names[kernel], e))?),
                    kernel,
                })
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
