//! The kernels, one file an operation, with the file names of `spikelet-graph/src/op`.

mod all_reduce;
mod arg_max;
mod batch_matmul;
mod concat;
mod conv;
mod convert;
mod copy;
mod cumprod;
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
mod scan;
mod scan_grad;
mod scan_ports;
mod slice;
mod step_program;
mod tile_operand;
mod tile_result;
mod top_k;
mod transpose;
mod view;

use crate::gemm::GemmElement;
use crate::memory::{Element, View, ViewMut};
use half::slice::HalfFloatSliceExt;
use pieces::BatchPieces;
use spikelet_expr::CompileError;
use spikelet_graph::op::{Op, Operation, Port, Ports};
use spikelet_graph::semantics::{Class, InPlace};
use spikelet_graph::{DType, Error, Graph, Node, ProcessGroup, TensorType, for_each_operation};
use std::sync::Arc;

/// Only errors that depend on the data are returned; the text is a message.
pub(crate) type RunResult = Result<(), String>;

/// A prepared operation.
pub(crate) trait Kernel: Send {
    /// Runs it.
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult;
}

pub(crate) type Prepared = spikelet_graph::Result<Box<dyn Kernel>>;

/// The workspace of a node's kernel, and the kernel, which the planner does not prepare.
pub(crate) struct Lowered<'a> {
    /// In words.
    workspace: usize,
    kernel: Box<dyn FnOnce() -> Prepared + 'a>,
}

impl<'a> Lowered<'a> {
    fn new(workspace: usize, kernel: impl FnOnce() -> Prepared + 'a) -> Self {
        let kernel = Box::new(kernel);
        Self { workspace, kernel }
    }
}

/// What an operation defines for the CPU, in its file.
pub(crate) trait CpuKernel {
    /// Prepares its kernel, which computes in `R`, if it has no workspace.
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared
    where
        Self: Sized,
    {
        unreachable!("an operation defines `prepare` or `lower`")
    }

    /// Its workspace and its kernel: by default none, and what `prepare` returns.
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a>
    where
        Self: Sized,
    {
        Lowered::new(0, || self.prepare::<R>(cx))
    }

    /// Whether the kernel converts its 16-bit operands and results, a tile at a time. Those of other kernels are
    /// converted around them.
    fn converts(&self) -> bool {
        false
    }

    /// The operands that the kernel gathers in arrays on the stack, at most [`MAX_OPERANDS`].
    fn gathered(&self, _types: &Types) -> usize {
        0
    }

    /// Whether the kernel reads an operand from the memory of a result ([`View::InPlace`]), which operations with an
    /// [`in_place`](Operation::in_place) other than `Never` ask for.
    fn takes_in_place(&self) -> bool {
        false
    }

    /// Whether the kernel reads an operand as packed bits.
    fn reads_bits(&self, _inputs: &[TensorType], _operand: usize) -> bool {
        false
    }

    /// Whether the kernel can write its results, zeros and ones, as packed bits.
    fn writes_bits(&self) -> bool {
        false
    }
}

macro_rules! kernels {
    ($($name:ident)*) => {
        fn kernel_of(op: &Op) -> &dyn CpuKernel {
            match op { $(Op::$name(op) => op,)* }
        }

        fn lower_in<'a, R: Float>(cx: &'a PrepareContext<'_>) -> Lowered<'a> {
            match &cx.node.op { $(Op::$name(op) => op.lower::<R>(cx),)* }
        }
    };
}

for_each_operation!(kernels);

/// The node whose kernel is prepared, and the device that will run it.
pub(crate) struct PrepareContext<'a> {
    node: &'a Node,
    pub(crate) types: Types,
    /// The number of threads.
    pub(crate) threads: usize,
    /// The ranks that the backend is one of.
    pub(crate) group: Option<&'a Arc<dyn ProcessGroup>>,
}

impl<'a> PrepareContext<'a> {
    pub(crate) fn new(
        graph: &Graph,
        node: &'a Node,
        threads: usize,
        group: Option<&'a Arc<dyn ProcessGroup>>,
    ) -> Self {
        Self {
            node,
            types: Types::of(graph, node),
            threads,
            group,
        }
    }

    /// The same node with operands and results of other types.
    fn with(&self, types: Types) -> Self {
        Self { types, ..*self }
    }

    /// The kernel of the node, between conversions of 16-bit operands and results.
    fn lower(&self) -> Lowered<'_> {
        if self.types.converted(&self.node.op) {
            return match BatchPieces::of(&self.node.op, &self.types) {
                Some(pieces) => pieces.lower(self),
                None => convert::lower(self),
            };
        }
        match self.types.float() {
            DType::F64 => lower_in::<f64>(self),
            _ => lower_in::<f32>(self),
        }
    }

    /// Prepares the kernel of the node.
    pub(crate) fn prepare(&self) -> Prepared {
        check_operands(self.node, &self.types)?;
        (self.lower().kernel)()
    }

    /// The workspace of the kernel in bytes, a multiple of eight.
    pub(crate) fn workspace(&self) -> usize {
        // Saturates: a workspace that exceeds the memory is rejected when it is allocated.
        self.lower().workspace.saturating_mul(8)
    }

    /// A kernel of expressions, or the error of one.
    fn boxed<K: Kernel + 'static>(&self, kernel: Result<K, CompileError>) -> Prepared {
        match kernel {
            Ok(kernel) => Ok(Box::new(kernel)),
            Err(source) => Err(Error::Expression {
                layer: self.node.layer.to_string(),
                operation: self.node.op.name(),
                source,
            }),
        }
    }
}

/// The words of elements.
fn words_of<R: Float>(elements: usize) -> usize {
    elements.saturating_mul(size_of::<R>()).div_ceil(8)
}

/// The floating-point types that kernels are written for.
pub(crate) trait Float: GemmElement + Element {
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
    /// Whether each result is read; scans do not compute the others.
    pub(crate) used: Vec<bool>,
}

impl Types {
    fn of(graph: &Graph, node: &Node) -> Self {
        Self {
            inputs: graph.types(&node.inputs),
            outputs: graph.types(&node.outputs),
            used: node.outputs.iter().map(|v| graph.is_read(*v)).collect(),
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
        all.any(|t| t.dtype.is_half()) && !moves(op) && !kernel_of(op).converts()
    }
}

/// Rejects an operation with more operands or results than its kernel supports.
fn check_operands(node: &Node, types: &Types) -> spikelet_graph::Result<()> {
    let (operands, results) = (types.inputs.len(), types.outputs.len());
    let operands = match types.converted(&node.op) {
        true => operands,
        false => kernel_of(&node.op).gathered(types),
    };
    if operands == 0 || operands.max(results) <= MAX_OPERANDS {
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

/// Whether the operation passes elements of any type on without conversion.
fn moves(op: &Op) -> bool {
    let moves = matches!(
        op.class(),
        Class::Movement | Class::Constant | Class::Opaque
    );
    moves || op.body().is_some()
}

/// Whether a kernel reads operands in the memory of a result, if the operation lets this result take their memory.
pub(crate) fn takes_in_place(op: &Op, result: usize) -> bool {
    op.in_place(result) == InPlace::Never || kernel_of(op).takes_in_place()
}

/// Whether a kernel reads an operand as packed bits.
pub(crate) fn reads_bits(op: &Op, inputs: &[TensorType], operand: usize) -> bool {
    kernel_of(op).reads_bits(inputs, operand)
}

/// Whether a kernel can write its results as packed bits.
pub(crate) fn writes_bits(op: &Op) -> bool {
    kernel_of(op).writes_bits()
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
        let cx = |node| PrepareContext::new(&graph, node, 64, None);
        let all = graph.nodes.iter().map(|node| cx(node).workspace());
        all.max().unwrap_or(0)
    }

    #[test]
    fn kernels_take_operands_in_place_where_their_operations_allow_it() {
        let all = include_str!("../../../spikelet-graph/src/text/all_operations.txt");
        // This operation exists in the tests of the graph's crate only.
        let mut inside = false;
        let known = all.lines().filter(|line| {
            inside = line.contains("= with_body") || inside && line.starts_with(' ');
            !inside
        });
        let known: String = known.map(|line| format!("{line}\n")).collect();
        let graph: Graph = known.parse().expect("a graph with every operation");
        let mut in_place = 0;
        for node in &graph.nodes {
            for result in 0..node.outputs.len() {
                assert!(takes_in_place(&node.op, result), "{}", node.op.name());
                in_place += usize::from(node.op.in_place(result) != InPlace::Never);
            }
        }
        assert!(in_place > 0);
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
