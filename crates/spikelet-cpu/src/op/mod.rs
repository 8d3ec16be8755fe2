//! The kernels, one file an operation, named as in `spikelet-graph/src/op`.

mod all_reduce;
mod bands;
mod conv;
mod convert;
mod custom;
mod draw;
mod labels;
mod log_softmax;
mod map;
mod matmul;
mod mean_var;
mod movement;
mod pack;
mod pieces;
mod pool;
mod reduce;
mod rows;
mod scan;
mod scan_grad;

use crate::backend::failure;
use crate::gemm::{self, GemmError, Strided};
use crate::memory::{Element, View, ViewMut};
use spikelet_expr::Evaluate;
use spikelet_graph::op::{Op, Operation};
use spikelet_graph::{DType, Error, Graph, Node, ProcessGroup, Result, TensorType, ValueId};
use std::sync::Arc;

/// A prepared operation.
pub(crate) trait Kernel: Send {
    /// Runs it. An error is one that only the data can cause, said in words.
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> std::result::Result<(), String>;
}

/// The floating-point types that kernels are written for.
pub(crate) trait Float: Evaluate + Element {
    /// Workspace words seen as elements.
    fn from_words(words: &mut [u64]) -> &mut [Self];

    /// `c ← a · b`, or `c + a · b`, in the calling thread, for sizes `(m, n, k)`.
    fn product_here(
        sizes: (usize, usize, usize),
        a: Strided<'_, Self>,
        b: Strided<'_, Self>,
        add: bool,
        c: &mut [Self],
        c_row_stride: usize,
    ) -> std::result::Result<(), GemmError>;
}

macro_rules! float {
    ($($type:ty: $product:path),*) => {$(
        impl Float for $type {
            fn from_words(words: &mut [u64]) -> &mut [Self] {
                // SAFETY: every bit pattern is a float, and a word's alignment is enough.
                unsafe { words.align_to_mut::<$type>().1 }
            }

            fn product_here(
                sizes: (usize, usize, usize),
                a: Strided<'_, Self>,
                b: Strided<'_, Self>,
                add: bool,
                c: &mut [Self],
                c_row_stride: usize,
            ) -> std::result::Result<(), GemmError> {
                $product(sizes, a, b, add, c, c_row_stride)
            }
        }
    )*};
}

float!(f32: gemm::sgemm_here, f64: gemm::dgemm_here);

/// Elements that go through an instruction at once: registers stay in the first-level cache.
pub(crate) const BLOCK: usize = 512;

/// Elements in one piece of work: fixed, so that results do not depend on the threads.
pub(crate) const CHUNK: usize = 16 * 1024;

/// The most operands or results of a kernel that gathers them in arrays on the stack.
pub(crate) const MOST: usize = 32;

/// The types of a node's operands and results.
pub(crate) struct Types {
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) outputs: Vec<TensorType>,
    /// Which results somebody reads; known of scans, which leave out the others.
    pub(crate) used: Vec<bool>,
}

impl Types {
    fn of(graph: &Graph, node: &Node) -> Self {
        let used = match &node.op {
            Op::Scan(_) | Op::ScanGrad(_) => {
                node.outputs.iter().map(|v| graph.is_read(*v)).collect()
            }
            _ => vec![],
        };
        let list = |values: &[ValueId]| values.iter().map(|v| graph.ty(*v).clone()).collect();
        Self {
            inputs: list(&node.inputs),
            outputs: list(&node.outputs),
            used,
        }
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
        all.any(|t| t.dtype.is_half()) && !moves(op)
    }
}

/// The group that a sum over ranks is for.
fn group_of(ranks: usize, group: Option<&Arc<dyn ProcessGroup>>) -> Result<Arc<dyn ProcessGroup>> {
    let problem = match group {
        Some(group) if group.size() == ranks => return Ok(group.clone()),
        Some(group) => format!("this backend is in a group of {}", group.size()),
        None => "this backend is in no group".to_string(),
    };
    Err(failure(format!(
        "the plan accumulates up over {ranks} ranks, {problem}; trace it for as many ranks as there are, \
         and give the backend their group with `Cpu::in_group`"
    )))
}

/// Refuses an operation with more operands or results than its kernel gathers.
fn check_operands(node: &Node, types: &Types) -> Result<()> {
    let (operands, results) = (types.inputs.len(), types.outputs.len());
    let operands = match &node.op {
        Op::Map(_) | Op::Scan(_) => operands,
        Op::ScanGrad(op) => {
            // A step backward reads the states and their gradients.
            let r = &op.recurrence;
            let step = r.inputs.len() + 2 * r.states.len() + r.outputs.len();
            operands.max(step)
        }
        op if types.converted(op) => operands,
        _ => return Ok(()),
    };
    if operands.max(results) <= MOST {
        return Ok(());
    }
    let given: Vec<String> = types.inputs.iter().map(TensorType::to_string).collect();
    Err(Error::Shape {
        layer: node.layer.to_string(),
        operation: node.op.name(),
        problem: format!(
            "it has {operands} operands and {results} results, the CPU takes at most {MOST} of each"
        ),
        given: given.join(" and "),
        help: "split its expression into several operations".to_string(),
    })
}

/// Makes a kernel for a node.
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
    let cut = pieces(&node.op, &types);
    let made = if let Some(cut) = cut {
        let kernel = cut.kernel(|types| typed::<f32>(node, types, threads));
        kernel.map(|kernel| Box::new(kernel) as Box<dyn Kernel>)
    } else if types.converted(&node.op) {
        typed::<f32>(node, &convert::widened(&types), threads)
            .map(|inner| Box::new(convert::HalfKernel::new(inner, &types)) as Box<dyn Kernel>)
    } else if types.float() == DType::F64 {
        typed::<f64>(node, &types, threads)
    } else {
        typed::<f32>(node, &types, threads)
    };
    made.map_err(|source| Error::Expression {
        layer: node.layer.to_string(),
        operation: node.op.name(),
        source,
    })
}

/// Whether the operation takes elements of any type as they are.
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
            | Op::Custom(_)
    )
}

type Prepared = std::result::Result<Box<dyn Kernel>, spikelet_expr::CompileError>;

fn typed<R: Float>(node: &Node, types: &Types, threads: usize) -> Prepared {
    Ok(match &node.op {
        Op::Map(op) => Box::new(map::MapKernel::<R>::new(op, types, threads)?),
        Op::MatMul(op) => matmul::prepare(*op, types),
        Op::Conv(op) => conv::prepare::<R>(op, types, threads),
        Op::Pool(op) => Box::new(pool::PoolKernel::<R>::new(op, types)),
        Op::PoolGrad(op) => Box::new(pool::PoolGradKernel::<R>::new(op, types)),
        Op::MeanVar(_) => Box::new(mean_var::MomentsKernel::<R>::new(types)),
        Op::Pack(_) => Box::new(pack::PackKernel::<R>::new(types)),
        Op::Reduce(op) => Box::new(reduce::ReduceKernel::<R>::new(op, types)),
        Op::Scan(op) => Box::new(scan::ScanKernel::<R>::new(op, types, threads)?),
        Op::ScanGrad(op) => Box::new(scan_grad::ScanGradKernel::<R>::new(op, types, threads)?),
        Op::Draw(op) => Box::new(draw::DrawKernel::<R>::new(op, types, threads)),
        Op::LogSoftmax(_) => Box::new(log_softmax::LogSoftmaxKernel::<R>::new(types)),
        Op::OneHot(op) => Box::new(labels::OneHotKernel::<R>::new(op)),
        Op::ArgMax(_) => Box::new(labels::ArgMaxKernel::<R>::new(types)),
        Op::Equal(_) => Box::new(labels::EqualKernel::<R>::new()),
        Op::Fill(op) => Box::new(movement::FillKernel { value: op.stored() }),
        Op::AllReduceStart(_) => unreachable!("made where the group is known"),
        Op::AllReduceDone(_) => Box::new(all_reduce::ArriveKernel),
        Op::Expand(_)
        | Op::Permute(_)
        | Op::Slice(_)
        | Op::Concat(_)
        | Op::ConcatChunks(_)
        | Op::TimeChunk(_)
        | Op::Reshape(_) => Box::new(movement::MoveKernel::new(&node.op, types)),
        Op::Custom(op) => Box::new(custom::CustomKernel::new(op.0.clone(), types)),
    })
}

/// How a node with 16-bit numbers goes through its batch in pieces, if it does.
fn pieces(op: &Op, types: &Types) -> Option<pieces::Cut> {
    types
        .converted(op)
        .then(|| pieces::Cut::of(op, types))
        .flatten()
}

/// Scratch memory in bytes, a multiple of eight.
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
    // More than there can be is refused later, as too much memory: it must not wrap around here.
    let words = converted.saturating_add(words_of(&node.op, &types, threads));
    words.saturating_mul(8)
}

/// Words of scratch memory of a kernel that computes with these types.
fn words_of(op: &Op, types: &Types, threads: usize) -> usize {
    match op {
        Op::AllReduceStart(_) => all_reduce::workspace_words(types),
        Op::MatMul(op) => matmul::workspace_words(*op, types),
        Op::Conv(op) => conv::workspace_words(op, types, threads),
        Op::MeanVar(_) => mean_var::workspace_words(types),
        Op::Reduce(op) => reduce::workspace_words(op, types),
        Op::Scan(op) => scan::workspace_words(op, types, threads),
        Op::ScanGrad(op) => scan_grad::workspace_words(op, types, threads),
        _ => 0,
    }
}

/// Whether a kernel takes its operand as bits.
pub(crate) fn reads_bits(graph: &Graph, node: &Node, operand: usize) -> bool {
    match &node.op {
        Op::MatMul(op) => matmul::reads_bits(*op, &Types::of(graph, node), operand),
        _ => false,
    }
}

/// Whether a kernel can write its result as bits.
pub(crate) fn writes_bits(_: &Graph, node: &Node, _: ValueId) -> bool {
    match &node.op {
        Op::Draw(op) => op.writes_bits(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::{DType, Tracer};

    /// The workspace of the only kernel that `x` of this shape leads to.
    fn workspace_of(
        shape: [usize; 2],
        made: impl Fn(&spikelet_graph::Var) -> spikelet_graph::Var,
    ) -> usize {
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
    }
}
