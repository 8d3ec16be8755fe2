//! Device code of the operations, one file each, with the file names of `spikelet-graph/src/op`.

mod all_reduce;
mod arg_max;
mod block;
mod block_grad;
mod channels;
mod concat;
mod conv;
mod custom;
mod draw;
mod equal;
mod expand;
mod fill;
mod index;
mod log_softmax;
mod map;
mod matmul;
mod mean_var;
mod one_hot;
mod pack;
mod permute;
mod pool;
mod reduce;
mod scan;
mod scan_grad;
mod schedule;
mod slice;
mod step;
mod warp;

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

/// One of the actions of a node, which run in order.
pub(crate) enum LoweredOp {
    /// A generated kernel.
    Kernel(KernelSource),
    /// A matrix product by cuBLASLt, written to result 0.
    Gemm {
        call: GemmCall,
        a: Binding,
        b: Binding,
        /// The offset of its workspace in that of the node.
        workspace: usize,
    },
    /// A convolution by cuDNN, written to result 0.
    Conv {
        call: ConvCall,
        a: Binding,
        b: Binding,
        /// The offset of its workspace in that of the node.
        workspace: usize,
    },
    /// A kernel of a custom operation.
    CustomKernel(DeviceKernel),
    /// Sets result k to zero.
    Clear(usize),
    /// Sums of all operands over the ranks of a group, on its stream.
    AllReduceStart(Arc<Group>),
    /// Makes the next actions wait for the sums that are the operands.
    AllReduceDone,
}

/// A node with its types, for lowering.
pub(crate) struct LoweringContext<'a> {
    pub(crate) gpu: &'a Properties,
    pub(crate) node: &'a Node,
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) outputs: Vec<TensorType>,
    /// Whether each result is read.
    pub(crate) wanted: Vec<bool>,
    /// The value of operands that are constant fills; a scan has them as literals and does not read them.
    pub(crate) constants: Vec<Option<f32>>,
    /// Bytes of its workspace in the plan.
    pub(crate) workspace_bytes: usize,
}

fn types(graph: &Graph, values: &[ValueId]) -> Vec<TensorType> {
    values.iter().map(|v| graph.ty(*v).clone()).collect()
}

impl LoweredOp {
    /// Bytes of the node's workspace, from its start, that it accesses.
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
            // Checked with its kernels.
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

/// The constants of values that nodes of the graph fill.
pub(crate) fn fills(graph: &Graph) -> HashMap<ValueId, f32> {
    let fill = |node: &Node| match &node.op {
        Op::Fill(op) if op.ty.dtype.is_float() => Some((node.outputs[0], op.stored() as f32)),
        _ => None,
    };
    graph.nodes.iter().filter_map(fill).collect()
}

/// Whether `node` has operand `operand` as a literal if it is constant.
fn takes_constant(node: &Node, operand: usize) -> bool {
    let (Op::Scan(Scan { recurrence, .. }) | Op::ScanGrad(ScanGrad { recurrence, .. })) = &node.op
    else {
        return false;
    };
    let first = recurrence.inputs.len();
    (first..first + recurrence.states.len() + recurrence.params.len()).contains(&operand)
}

/// Whether all readers of a constant value have it as a literal.
pub(crate) fn is_inlined(graph: &Graph, value: ValueId) -> bool {
    let given = graph.outputs.iter().any(|o| o.value == value);
    let read = |node: &Node| {
        let mut at = node.inputs.iter().enumerate().filter(|(_, v)| **v == value);
        at.all(|(k, _)| takes_constant(node, k))
    };
    !given && graph.nodes.iter().all(read)
}

/// Lowers a node.
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
    check_workspace(&shared.gpu.name, site, &work)?;
    Ok(work)
}

/// Rejects actions that need a larger workspace than the plan has, and would overwrite other values:
/// the plan was created for another device, or a library's query failed during planning.
fn check_workspace(device: &str, site: &LoweringContext<'_>, work: &[LoweredOp]) -> Result<()> {
    let needed = work.iter().map(LoweredOp::workspace).max().unwrap_or(0);
    if needed <= site.workspace_bytes {
        return Ok(());
    }
    let problem = format!(
        "it needs a workspace of {needed} bytes, the plan has {}; create the plan again for this device",
        site.workspace_bytes
    );
    Err(site.refuse(device, &problem))
}

/// Rejects a node without a kernel for this GPU.
pub(crate) fn check(device: &str, gpu: &Properties, graph: &Graph, node: &Node) -> Result<()> {
    let wanted = vec![true; node.outputs.len()];
    check_site(device, &LoweringContext::new(gpu, graph, node, wanted))
}

fn check_site(device: &str, site: &LoweringContext<'_>) -> Result<()> {
    let all = || site.inputs.iter().chain(&site.outputs);
    if all().any(|t| t.dtype == DType::F64) {
        return Err(site.refuse(
            device,
            "f64 is supported on the CPU only, for references and gradient checks; use --device cpu, or f32, bf16 or f16",
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

/// The generated kernels of a node other than a matrix product, convolution, sum over ranks or custom
/// operation.
pub(crate) fn pieces(site: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
    let expression = |source| Error::Expression {
        layer: site.node.layer.to_string(),
        operation: site.node.op.name(),
        source,
    };
    Ok(match &site.node.op {
        Op::ArgMax(_) => arg_max::pieces(site),
        Op::Concat(op) => concat::pieces(op, site),
        Op::Draw(op) => draw::pieces(op, site),
        Op::Equal(_) => equal::pieces(site),
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
        Op::OneHot(op) => one_hot::pieces(op, site),
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

/// Whether a backward scan is computed by [`block_grad`].
fn by_blocks(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    let asked = op.pool.is_some() || op.channel_sums;
    asked && block_grad::takes(op, inputs)
}

/// Whether a backward scan can sum its parameters' gradients over all axes but the channels.
pub(crate) fn sums_channels(graph: &Graph, node: &Node) -> bool {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::ScanGrad(op) => block_grad::takes(op, &inputs),
        _ => false,
    }
}

/// Scans may run in place: a thread loads its neurons' elements of some steps, or its block, before it
/// stores there.
pub(crate) const OVERWRITES_SEQUENCES: bool = true;

/// Workspaces of the vendor's libraries, in bytes.
pub(crate) trait LibraryWorkspaces {
    /// That of a matrix product.
    fn of_product(&self, product: Product) -> usize;

    /// That of a convolution.
    fn of_convolution(&self, convolution: &Convolution) -> usize;
}

/// The workspace of a node, in bytes.
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

/// Steps between the checkpoints that a forward scan should write for the backward scan `node`.
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
