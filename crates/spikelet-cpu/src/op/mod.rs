//! The kernels, one file an operation, with the file names of `spikelet-graph/src/op`.

mod all_reduce;
mod arg_max;
mod batch_matmul;
mod concat;
mod conv;
mod convert;
mod copy;
mod custom;
mod delayed_matmul;
mod draw;
mod equal;
mod event_frames;
mod expand;
mod feedback;
mod fill;
mod flip;
mod gather;
mod generator_steps;
mod lanes;
mod log_softmax;
mod map;
mod matmul;
mod mean_var;
mod one_hot;
mod pack;
mod permute;
mod pieces;
mod pool;
mod pool_tiles;
mod rank_update;
mod reduce;
mod row_products;
mod rows;
mod scan;
mod scan_grad;
mod scan_ports;
mod slice;
mod spike_sums;
mod step_program;
mod tile_operand;
mod tile_result;
mod top_k;
mod transpose;

use crate::gemm::GemmElement;
use crate::memory::{Element, View, ViewMut};
use crate::shared::failure;
use half::slice::HalfFloatSliceExt;
use spikelet_graph::op::{Op, Operation, Port, Ports};
use spikelet_graph::{DType, Error, Graph, Node, ProcessGroup, Result, TensorType, ValueId};
use std::sync::Arc;

/// A prepared operation.
pub(crate) trait Kernel: Send {
    /// Runs it. Only errors that depend on the data are returned; the text is a message.
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> std::result::Result<(), String>;
}

/// An operation whose result is already in its memory, that of its operand.
struct ViewKernel;

impl Kernel for ViewKernel {
    fn run(
        &mut self,
        _: &[View<'_>],
        _: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> std::result::Result<(), String> {
        Ok(())
    }
}

/// The floating-point types that kernels are written for.
pub(crate) trait Float: GemmElement + Element + lanes::Lanes {
    const DTYPE: DType;

    /// Workspace words as elements.
    fn from_words(words: &mut [u64]) -> &mut [Self];
    /// The number rounded down; 0 for a negative one and NaN.
    fn to_index(self) -> usize;
    /// Converts 16-bit elements.
    fn widen<H: HalfFloatSliceExt + ?Sized>(from: &H, to: &mut [Self]);
    /// Rounds elements to 16 bits.
    fn round<H: HalfFloatSliceExt + ?Sized>(from: &[Self], to: &mut H);
}

macro_rules! float {
    ($($type:ty: $dtype:ident, $widen:ident, $round:ident;)*) => {$(
        impl Float for $type {
            const DTYPE: DType = DType::$dtype;

            fn from_words(words: &mut [u64]) -> &mut [Self] {
                // SAFETY: every bit pattern is a float, and a word's alignment is enough.
                unsafe { words.align_to_mut::<$type>().1 }
            }
            fn to_index(self) -> usize {
                self as usize
            }
            fn widen<H: HalfFloatSliceExt + ?Sized>(from: &H, to: &mut [Self]) {
                from.$widen(to);
            }
            fn round<H: HalfFloatSliceExt + ?Sized>(from: &[Self], to: &mut H) {
                to.$round(from);
            }
        }
    )*};
}

float! {
    f32: F32, convert_to_f32_slice, convert_from_f32_slice;
    f64: F64, convert_to_f64_slice, convert_from_f64_slice;
}

/// Elements that an instruction processes at once: registers stay in the L1 cache.
pub(crate) const BLOCK: usize = 512;

/// Elements of one piece of work: constant, so that results do not depend on the number of threads.
pub(crate) const CHUNK: usize = 16 * 1024;

/// The most operands or results of a kernel that gathers them in arrays on the stack.
pub(crate) const MAX_OPERANDS: usize = 32;

/// The types of a node's operands and results.
pub(crate) struct Types {
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) outputs: Vec<TensorType>,
    /// For scans, whether each result is read; the others are not computed.
    pub(crate) used: Vec<bool>,
}

impl Types {
    fn of(graph: &Graph, node: &Node) -> Self {
        let used = match node.op.ports() {
            Some(_) => node.outputs.iter().map(|v| graph.is_read(*v)).collect(),
            None => vec![],
        };
        let list = |values: &[ValueId]| values.iter().map(|v| graph.ty(*v).clone()).collect();
        Self {
            inputs: list(&node.inputs),
            outputs: list(&node.outputs),
            used,
        }
    }

    /// Whether each of `count` results of a scan is read: `port(0)`, `port(1)`, …
    fn used(&self, op: &dyn Ports, port: fn(usize) -> Port, count: usize) -> Vec<bool> {
        let results = (0..count).map(|k| op.writes(port(k)));
        results.map(|at| self.used[at]).collect()
    }

    /// The floating-point type that the node computes in.
    fn float(&self) -> DType {
        let mut all = self.outputs.iter().chain(&self.inputs);
        let wide = all.any(|t| t.dtype == DType::F64);
        if wide { DType::F64 } else { DType::F32 }
    }

    /// Whether 16-bit operands and results are converted around the kernel.
    fn converted(&self, op: &Op) -> bool {
        let mut all = self.inputs.iter().chain(&self.outputs);
        all.any(|t| t.dtype.is_half()) && !moves(op) && !converts(op)
    }
}

/// The process group of a sum over ranks.
fn group_of(ranks: usize, group: Option<&Arc<dyn ProcessGroup>>) -> Result<Arc<dyn ProcessGroup>> {
    let problem = match group {
        Some(group) if group.size() == ranks => return Ok(group.clone()),
        Some(group) => format!("this backend is in a group of {}", group.size()),
        None => "this backend has no group".to_string(),
    };
    Err(failure(format!(
        "the plan all-reduces over {ranks} ranks, {problem}; trace it for the number of ranks, and set \
         the group with `Cpu::in_group`"
    )))
}

/// Rejects an operation with more operands or results than its kernel supports.
fn check_operands(node: &Node, types: &Types) -> Result<()> {
    let (operands, results) = (types.inputs.len(), types.outputs.len());
    let operands = match &node.op {
        Op::Map(_) | Op::Scan(_) => operands,
        // A backward step reads the states and their gradients.
        Op::ScanGrad(op) => {
            let r = &op.of.recurrence;
            let step = r.inputs.len() + 2 * r.states.len() + r.outputs.len();
            operands.max(step)
        }
        op if types.converted(op) => operands,
        _ => return Ok(()),
    };
    if operands.max(results) <= MAX_OPERANDS {
        return Ok(());
    }
    let given: Vec<String> = types.inputs.iter().map(TensorType::to_string).collect();
    Err(Error::Shape {
        layer: node.layer.to_string(),
        operation: node.op.name(),
        problem: format!(
            "{operands} operands and {results} results; the CPU kernel takes at most {MAX_OPERANDS} of each"
        ),
        given: given.join(" and "),
        help: "split the expression into several operations".to_string(),
    })
}

/// Prepares the kernel of a node.
pub(crate) fn prepare(
    graph: &Graph,
    node: &Node,
    threads: usize,
    group: Option<&Arc<dyn ProcessGroup>>,
) -> Result<Box<dyn Kernel>> {
    if let Op::AllReduceStart(op) = &node.op {
        let group = group_of(op.ranks, group)?;
        return Ok(Box::new(all_reduce::AllReduceKernel { group }));
    }
    let types = Types::of(graph, node);
    check_operands(node, &types)?;
    let pieces = pieces(&node.op, &types);
    let prepared = if let Some(pieces) = pieces {
        let kernel = pieces.kernel(|types| typed::<f32>(node, types, threads));
        kernel.map(|kernel| Box::new(kernel) as Box<dyn Kernel>)
    } else if types.converted(&node.op) {
        typed::<f32>(node, &convert::widened(&types), threads)
            .map(|inner| Box::new(convert::HalfKernel::new(inner, &types)) as Box<dyn Kernel>)
    } else if types.float() == DType::F64 {
        typed::<f64>(node, &types, threads)
    } else {
        typed::<f32>(node, &types, threads)
    };
    prepared.map_err(|source| Error::Expression {
        layer: node.layer.to_string(),
        operation: node.op.name(),
        source,
    })
}

/// Whether the operation passes elements of any type on without conversion.
fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Expand(_)
            | Op::Permute(_)
            | Op::Slice(_)
            | Op::Concat(_)
            | Op::Reshape(_)
            | Op::TimeChunk(_)
            | Op::ConcatChunks(_)
            | Op::Fill(_)
            | Op::Flip(_)
            | Op::Gather(_)
            | Op::GeneratorSteps(_)
            | Op::Loop(_)
            | Op::Custom(_)
    )
}

/// Whether the kernel converts its 16-bit operands and results, a tile at a time.
fn converts(op: &Op) -> bool {
    op.ports().is_some()
}

type Prepared = std::result::Result<Box<dyn Kernel>, spikelet_expr::CompileError>;

fn typed<R: Float>(node: &Node, types: &Types, threads: usize) -> Prepared {
    Ok(match &node.op {
        Op::Map(op) => Box::new(map::MapKernel::<R>::new(op, types, threads)?),
        Op::MatMul(op) => matmul::prepare(*op, types),
        Op::BatchMatMul(op) => Box::new(batch_matmul::BatchMatMulKernel::<R>::new(*op, types)),
        Op::Conv(op) => conv::prepare::<R>(op, types, threads),
        Op::DelayedMatMul(op) => Box::new(delayed_matmul::DelayedMatMulKernel::<R>::new(
            *op, types, threads,
        )),
        Op::Pool(op) => Box::new(pool::PoolKernel::<R>::new(op, types)),
        Op::PoolGrad(op) => Box::new(pool::PoolGradKernel::<R>::new(op, types)),
        Op::MeanVar(_) => Box::new(mean_var::MeanVarKernel::<R>::new(types)),
        Op::Pack(_) => Box::new(pack::PackKernel::<R>::new(types)),
        Op::RankUpdate(op) => Box::new(rank_update::RankUpdateKernel::<R>::new(op, types)),
        Op::Reduce(op) => Box::new(reduce::ReduceKernel::<R>::new(op, types)),
        Op::Scan(op) => Box::new(scan::ScanKernel::<R>::new(op, types, threads)?),
        Op::ScanGrad(op) => Box::new(scan_grad::ScanGradKernel::<R>::new(op, types, threads)?),
        Op::Draw(op) => Box::new(draw::DrawKernel::<R>::new(op, types, threads)),
        Op::LogSoftmax(_) => Box::new(log_softmax::LogSoftmaxKernel::<R>::new(types)),
        Op::OneHot(op) => Box::new(one_hot::OneHotKernel::<R>::new(op)),
        Op::ArgMax(_) => Box::new(arg_max::ArgMaxKernel::<R>::new(types)),
        Op::Equal(_) => Box::new(equal::EqualKernel::<R>::new()),
        Op::EventFrames(op) => Box::new(event_frames::EventFramesKernel::new(op, types)),
        Op::Fill(op) => Box::new(fill::FillKernel { value: op.stored() }),
        Op::Flip(op) => Box::new(flip::FlipKernel::new(op, types)),
        Op::Gather(op) => Box::new(gather::GatherKernel::new(op, types)),
        Op::GeneratorSteps(_) => Box::new(generator_steps::GeneratorStepsKernel),
        Op::ScatterAdd(op) => Box::new(gather::ScatterAddKernel::<R>::new(op, types, threads)),
        Op::TopK(_) => Box::new(top_k::TopKKernel::<R>::new(types)),
        Op::AllReduceStart(_) => unreachable!("prepared with its process group"),
        Op::Loop(_) => unreachable!("prepared with the plan of its body"),
        Op::Expand(_) => Box::new(expand::prepare(types)),
        Op::Permute(op) => Box::new(permute::prepare(op, types)),
        Op::Slice(op) => Box::new(slice::prepare(op, types)),
        Op::Concat(op) => Box::new(concat::prepare(op, types)),
        Op::AllReduceDone(_) | Op::ConcatChunks(_) | Op::TimeChunk(_) | Op::Reshape(_) => {
            Box::new(ViewKernel)
        }
        Op::Custom(op) => Box::new(custom::CustomKernel::new(op.0.clone(), types)),
    })
}

/// The partition of the batch of a node with 16-bit operands or results, if it has one.
fn pieces(op: &Op, types: &Types) -> Option<pieces::BatchPieces> {
    types
        .converted(op)
        .then(|| pieces::BatchPieces::of(op, types))
        .flatten()
}

/// The workspace in bytes, a multiple of eight.
pub(crate) fn workspace(graph: &Graph, node: &Node, threads: usize) -> usize {
    let own = Types::of(graph, node);
    if let Some(cut) = pieces(&node.op, &own) {
        return cut
            .workspace_words(|types| words_of(&node.op, types, threads))
            .saturating_mul(8);
    }
    let (types, converted) = if own.converted(&node.op) {
        (convert::widened(&own), convert::workspace_words(&own))
    } else {
        (own, 0)
    };
    // Saturates: a workspace that exceeds the memory is rejected when it is allocated.
    let words = converted.saturating_add(words_of(&node.op, &types, threads));
    words.saturating_mul(8)
}

/// Words of the workspace of a kernel with these types.
fn words_of(op: &Op, types: &Types, threads: usize) -> usize {
    match op {
        Op::AllReduceStart(_) => all_reduce::workspace_words(types),
        Op::MatMul(op) => matmul::workspace_words(*op, types),
        Op::Conv(op) => conv::workspace_words(op, types, threads),
        Op::DelayedMatMul(op) => delayed_matmul::workspace_words(*op, types, threads),
        Op::MeanVar(_) => mean_var::workspace_words(types),
        Op::Reduce(op) => reduce::workspace_words(op, types),
        Op::Scan(op) => scan::workspace_words(op, types, threads),
        Op::ScanGrad(op) => scan_grad::workspace_words(op, types, threads),
        _ => 0,
    }
}

/// Whether a kernel reads an operand as packed bits.
pub(crate) fn reads_bits(graph: &Graph, node: &Node, operand: usize) -> bool {
    match &node.op {
        Op::MatMul(op) => matmul::reads_bits(*op, &Types::of(graph, node), operand),
        Op::ScanGrad(op) => op.operand(Port::Before) == Some(operand),
        _ => false,
    }
}

/// Whether a kernel can write its result, zeros and ones, as packed bits.
pub(crate) fn writes_bits(_: &Graph, node: &Node, _: ValueId) -> bool {
    match &node.op {
        Op::Draw(op) => op.writes_bits(),
        Op::Scan(op) => op.feedback.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_expr::Expr;
    use spikelet_graph::op::Recurrence;
    use spikelet_graph::{DType, Tracer, Var};

    /// The largest workspace of the kernels of a function of `x` of this shape.
    fn workspace_of(shape: [usize; 2], made: impl Fn(&Var) -> Var) -> usize {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, shape);
        tracer.output("y", &made(&x));
        let graph = tracer.finish().expect("a graph");
        let all = graph.nodes.iter().map(|node| workspace(&graph, node, 64));
        all.max().unwrap_or(0)
    }

    #[test]
    fn workspaces_of_the_largest_shapes_do_not_wrap_around() {
        let most = 1 << 58;
        let summed = workspace_of([most, 2], |x| x.sum(&[0]));
        assert!(summed > 1 << 40, "{summed}");
        workspace_of([most, 1], |x| x.sum(&[1]));
        workspace_of([1, most], |x| {
            x.matmul(&x.tracer().input("w", DType::F32, [most, 1]))
        });
        workspace_of([2, most], |x| {
            x.matmul(&x.tracer().input("w", DType::F32, [most, 2]))
        });
        let half = workspace_of([most, 1], |x| x.cast(DType::BF16).sum(&[0]));
        assert!(half > 1 << 40, "{half}");
        let scan = workspace_of([most, 1], |x| {
            let sum = Expr::symbol("v") + Expr::symbol("x");
            let neuron = Recurrence::new("sum", ["x"], ["v"])
                .output("y", sum.clone(), false)
                .next(vec![sum]);
            let start = x.tracer().state("v", [1]);
            let made = Var::scan(&Arc::new(neuron), most, &[x], &[&start], &[]);
            let gradients = x.tracer().gradients(&made[0].sum_all(), &[x]);
            gradients[0].clone()
        });
        assert!(scan > 1 << 40, "{scan}");
    }
}
