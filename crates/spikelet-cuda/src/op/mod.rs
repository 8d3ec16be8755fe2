//! Device code of the operations: the same file names as in `spikelet-graph`.

mod all_reduce;
mod block;
mod block_grad;
mod channels;
mod concat;
mod conv;
mod custom;
mod draw;
mod expand;
mod fill;
mod index;
mod labels;
mod log_softmax;
mod map;
mod matmul;
mod mean_var;
mod pack;
mod permute;
mod pool;
mod reduce;
mod scan;
mod scan_grad;
mod schedule;
mod slice;
mod step;

use crate::backend::Shared;
use crate::dnn::{ConvCall, Convolution};
use crate::error::failure;
use crate::gemm::{GemmCall, Product};
use crate::gpu::Properties;
use crate::group::Group;
use crate::kernel_source::{Binding, KernelSource};
use spikelet_graph::op::{DeviceKernel, Op, Operation, Scan, ScanGrad};
use spikelet_graph::{DType, Error, Graph, Node, Result, TensorType, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

/// What runs for a node, in order.
pub(crate) enum LoweredOp {
    /// A kernel of our own.
    Kernel(KernelSource),
    /// A matrix product by the vendor's library, the result to result 0.
    Gemm {
        call: GemmCall,
        a: Binding,
        b: Binding,
        /// Where its own scratch memory starts in the kernel's workspace.
        workspace: usize,
    },
    /// A convolution by the vendor's library, the result to result 0.
    Conv {
        call: ConvCall,
        a: Binding,
        b: Binding,
        /// Where its own scratch memory starts in the kernel's workspace.
        workspace: usize,
    },
    /// A kernel of a custom operation.
    CustomKernel(DeviceKernel),
    /// Zeros in result k.
    Clear(usize),
    /// Sums of all operands over the ranks of a group, on its stream.
    AllReduceStart(Arc<Group>),
    /// What follows waits for the sums that the operands are.
    AllReduceDone,
}

/// A node with the types of what it touches.
pub(crate) struct LoweringContext<'a> {
    pub(crate) gpu: &'a Properties,
    pub(crate) node: &'a Node,
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) outputs: Vec<TensorType>,
    /// Which results somebody reads.
    pub(crate) wanted: Vec<bool>,
    /// Operands that are one known number; a scan has it in its code and does not read it.
    pub(crate) constants: Vec<Option<f32>>,
    /// Bytes of the workspace that the plan has for it.
    pub(crate) workspace_bytes: usize,
}

fn types(graph: &Graph, values: &[ValueId]) -> Vec<TensorType> {
    values.iter().map(|v| graph.ty(*v).clone()).collect()
}

impl LoweredOp {
    /// Bytes of the kernel's workspace, from its start, that it writes or reads.
    fn workspace(&self) -> usize {
        match self {
            LoweredOp::Kernel(piece) => {
                let last = piece.arguments.iter().filter_map(|a| match a.binding {
                    Binding::Workspace(at) => Some(at.saturating_add(a.bytes)),
                    Binding::Read(_) | Binding::Write(_) => None,
                });
                last.max().unwrap_or(0)
            }
            LoweredOp::Gemm {
                call, workspace, ..
            } => workspace.saturating_add(call.plan.workspace),
            LoweredOp::Conv {
                call, workspace, ..
            } => workspace.saturating_add(call.workspace()),
            // Compared where its kernels are.
            LoweredOp::CustomKernel(_) => 0,
            LoweredOp::Clear(_) | LoweredOp::AllReduceStart(_) | LoweredOp::AllReduceDone => 0,
        }
    }
}

impl<'a> LoweringContext<'a> {
    pub(crate) fn new(
        gpu: &'a Properties,
        graph: &Graph,
        node: &'a Node,
        wanted: Vec<bool>,
    ) -> Self {
        Self {
            gpu,
            node,
            inputs: types(graph, &node.inputs),
            outputs: types(graph, &node.outputs),
            wanted,
            constants: vec![None; node.inputs.len()],
            workspace_bytes: 0,
        }
    }

    /// The operation and its layer.
    pub(crate) fn name(&self) -> String {
        let name = self.node.op.name();
        if self.node.layer.is_empty() {
            return name;
        }
        format!("{name} in `{}`", self.node.layer)
    }

    /// An error of this node.
    fn refuse(&self, device: &str, problem: &str) -> Error {
        failure(device, format!("{}: {problem}", self.name()))
    }
}

/// The number that each value is, where a node of the graph fills it with one.
pub(crate) fn fills(graph: &Graph) -> HashMap<ValueId, f32> {
    let fill = |node: &Node| match &node.op {
        Op::Fill(op) if op.ty.dtype.is_float() => Some((node.outputs[0], op.stored() as f32)),
        _ => None,
    };
    graph.nodes.iter().filter_map(fill).collect()
}

/// Whether `node` has a known number in its code where operand `operand` is one.
fn takes_constant(node: &Node, operand: usize) -> bool {
    let (Op::Scan(Scan { recurrence, .. }) | Op::ScanGrad(ScanGrad { recurrence, .. })) = &node.op
    else {
        return false;
    };
    let first = recurrence.inputs.len();
    (first..first + recurrence.states.len() + recurrence.params.len()).contains(&operand)
}

/// Whether everybody who reads a value has its number in the code.
pub(crate) fn is_inlined(graph: &Graph, value: ValueId) -> bool {
    let given = graph.outputs.iter().any(|o| o.value == value);
    let read = |node: &Node| {
        let mut at = node.inputs.iter().enumerate().filter(|(_, v)| **v == value);
        at.all(|(k, _)| takes_constant(node, k))
    };
    !given && graph.nodes.iter().all(read)
}

/// The work of a node.
pub(crate) fn prepare(shared: &Shared, site: &LoweringContext<'_>) -> Result<Vec<LoweredOp>> {
    check_site(&shared.gpu.name, site)?;
    if !site.outputs.is_empty() && site.outputs.iter().all(TensorType::is_empty) {
        return Ok(vec![]);
    }
    let work = match &site.node.op {
        Op::AllReduceStart(op) => all_reduce::work(op, &shared.gpu, site)?,
        Op::AllReduceDone(_) => vec![LoweredOp::AllReduceDone],
        Op::MatMul(op) => matmul::work(op, shared, site)?,
        Op::Conv(op) => conv::work(op, shared, site)?,
        Op::Custom(op) => custom::work(op, &shared.gpu.name, site)?,
        _ => pieces(site)?.into_iter().map(LoweredOp::Kernel).collect(),
    };
    check_room(&shared.gpu.name, site, &work)?;
    Ok(work)
}

/// Refuses work that needs more scratch memory than the plan has for it, and would write over
/// something else: the plan was made for another device, or where a library could not be asked.
fn check_room(device: &str, site: &LoweringContext<'_>, work: &[LoweredOp]) -> Result<()> {
    let needed = work.iter().map(LoweredOp::workspace).max().unwrap_or(0);
    if needed <= site.workspace_bytes {
        return Ok(());
    }
    let problem = format!(
        "it needs {needed} bytes of workspace, the plan has {} for it; make the plan anew, for \
         this device",
        site.workspace_bytes
    );
    Err(site.refuse(device, &problem))
}

/// Refuses a node that no kernel here can do.
pub(crate) fn check(device: &str, gpu: &Properties, graph: &Graph, node: &Node) -> Result<()> {
    let wanted = vec![true; node.outputs.len()];
    check_site(device, &LoweringContext::new(gpu, graph, node, wanted))
}

fn check_site(device: &str, site: &LoweringContext<'_>) -> Result<()> {
    let all = || site.inputs.iter().chain(&site.outputs);
    if all().any(|t| t.dtype == DType::F64) {
        return Err(site.refuse(
            device,
            "f64 is for references and gradient checks, which run on the CPU: use --device cpu, or f32, bf16 or f16 here",
        ));
    }
    let rows = |t: &TensorType| 32 * t.rows_and_columns().0;
    let by_rows = matches!(
        site.node.op,
        Op::ArgMax(_) | Op::LogSoftmax(_) | Op::Reduce(_)
    );
    let most = all().map(TensorType::len).max().unwrap_or(0);
    let lanes = site
        .inputs
        .iter()
        .map(rows)
        .max()
        .filter(|_| by_rows)
        .unwrap_or(0);
    if most.max(lanes) > i32::MAX as usize {
        return Err(site.refuse(
            device,
            "a tensor has more than 2³¹ elements, or more than 2²⁶ rows to reduce; use a smaller \
             batch or fewer time steps",
        ));
    }
    Ok(())
}

/// The device code of a node that is no matrix product, convolution, sum over ranks or custom
/// operation.
pub(crate) fn pieces(site: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
    let expression = |source| Error::Expression {
        layer: site.node.layer.to_string(),
        operation: site.node.op.name(),
        source,
    };
    Ok(match &site.node.op {
        Op::ArgMax(_) => labels::arg_max(site),
        Op::Concat(op) => concat::pieces(op, site),
        Op::Draw(op) => draw::pieces(op, site),
        Op::Equal(_) => labels::equal(site),
        Op::Expand(op) => expand::pieces(op, site),
        Op::Fill(op) => fill::pieces(op, site),
        Op::LogSoftmax(_) => log_softmax::pieces(site),
        Op::Map(op) => map::pieces(op, site).map_err(expression)?,
        Op::AllReduceStart(_)
        | Op::AllReduceDone(_)
        | Op::Conv(_)
        | Op::Custom(_)
        | Op::ConcatChunks(_)
        | Op::MatMul(_)
        | Op::TimeChunk(_)
        | Op::Reshape(_) => vec![],
        Op::MeanVar(_) => mean_var::pieces(site),
        Op::OneHot(op) => labels::one_hot(op, site),
        Op::Pack(_) => pack::pieces(site),
        Op::Permute(op) => permute::pieces(op, site),
        Op::Pool(op) => pool::pieces(op, site),
        Op::PoolGrad(op) => pool::grad_pieces(op, site),
        Op::Reduce(op) => reduce::pieces(op, site),
        Op::Scan(op) if op.pool.is_some() => block::pieces(op, site).map_err(expression)?,
        Op::Scan(op) => scan::pieces(op, site).map_err(expression)?,
        Op::ScanGrad(op) if by_blocks(op, &site.inputs) => {
            block_grad::pieces(op, site).map_err(expression)?
        }
        Op::ScanGrad(op) => scan_grad::pieces(op, site).map_err(expression)?,
        Op::Slice(op) => slice::pieces(op, site),
    })
}

/// Whether a backward scan goes by blocks of neurons and by channels.
fn by_blocks(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    let asked = op.pool.is_some() || op.channel_sums;
    asked && block_grad::takes(op, inputs)
}

/// Whether a backward scan can sum its parameters' gradients over all but the channels.
pub(crate) fn sums_channels(graph: &Graph, node: &Node) -> bool {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::ScanGrad(op) => block_grad::takes(op, &inputs),
        _ => false,
    }
}

/// A thread loads its neurons' elements of some steps, or its block, before it stores anything there.
pub(crate) const OVERWRITES_SEQUENCES: bool = true;

/// Scratch memory that the vendor's libraries ask for, in bytes.
pub(crate) trait LibraryWorkspaces {
    /// For a matrix product.
    fn of_product(&self, product: Product) -> usize;

    /// For a convolution.
    fn of_convolution(&self, convolution: &Convolution) -> usize;
}

/// Scratch memory of a node, in bytes.
pub(crate) fn workspace(
    libraries: &dyn LibraryWorkspaces,
    gpu: &Properties,
    graph: &Graph,
    node: &Node,
) -> usize {
    let site = LoweringContext::new(gpu, graph, node, vec![true; node.outputs.len()]);
    match &node.op {
        Op::Reduce(op) => reduce::workspace(op, &site),
        Op::Conv(op) => conv::workspace(op, libraries, &site),
        Op::Custom(op) => custom::workspace(op, graph, node, &site),
        Op::MatMul(op) => matmul::workspace(op, libraries, &site),
        Op::MeanVar(_) => mean_var::workspace(&site),
        Op::ScanGrad(op) if by_blocks(op, &site.inputs) => block_grad::workspace(op, &site),
        Op::ScanGrad(op) => scan_grad::workspace(op, &site),
        _ => 0,
    }
}

/// Steps between the states that a forward scan should keep for the backward scan `node`.
pub(crate) fn scan_checkpoint(gpu: &Properties, graph: &Graph, node: &Node) -> Option<usize> {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::ScanGrad(op) if !by_blocks(op, &inputs) => scan_grad::segment(op, gpu, &inputs),
        _ => None,
    }
}

/// Whether a node reads an operand as bits.
pub(crate) fn reads_bits(gpu: &Properties, graph: &Graph, node: &Node, operand: usize) -> bool {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::MatMul(op) => matmul::reads_bits(op, gpu, &inputs, operand),
        _ => false,
    }
}

/// Whether a node writes its result as bits.
pub(crate) fn writes_bits(graph: &Graph, node: &Node, value: ValueId) -> bool {
    let inputs = types(graph, &node.inputs);
    let at = node.outputs.iter().position(|v| *v == value);
    match &node.op {
        Op::Draw(op) => op.writes_bits(),
        Op::Scan(op) if op.pool.is_none() => at.is_some_and(|k| scan::writes_bits(op, &inputs, k)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
