//! Device code of the operations, one file each, with the file names of `spikelet-graph/src/op`.

mod all_reduce;
mod arg_max;
mod batch_matmul;
mod block;
mod block_grad;
mod channels;
mod concat;
mod conv;
mod custom;
mod delayed_matmul;
mod draw;
mod equal;
mod event_frames;
mod expand;
mod fill;
mod flip;
mod gather;
mod generator_steps;
mod index;
mod log_softmax;
pub(crate) mod loops;
mod map;
mod matmul;
mod mean_var;
mod one_hot;
mod pack;
mod permute;
mod pool;
mod rank_update;
mod recurrent;
mod reduce;
mod scan;
mod scan_grad;
mod schedule;
mod slice;
mod step;
mod top_k;
mod warp;

use crate::dnn::{ConvCall, Convolution};
use crate::error::failure;
use crate::gemm::{GemmCall, Product};
use crate::gpu::Properties;
use crate::gpu::group::Group;
use crate::kernel_source::{Binding, KernelSource};
use crate::shared::Shared;
use spikelet_graph::op::{DeviceKernel, Op, Operation, Port, Ports, ScanGrad};
use spikelet_graph::{DType, Error, Graph, Node, Result, TensorType, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use recurrent::overlap_chunks;

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

/// A C++ literal with the bits of a number.
fn float_literal(x: f32) -> String {
    format!("__uint_as_float({:#x}u)", x.to_bits())
}

fn types(graph: &Graph, values: &[ValueId]) -> Vec<TensorType> {
    values.iter().map(|v| graph.ty(*v).clone()).collect()
}

impl LoweredOp {
    /// Bytes of the node's workspace, from its start, that it accesses.
    fn workspace(&self) -> usize {
        match self {
            LoweredOp::Kernel(kernel) => {
                let last = kernel.arguments.iter().filter_map(|a| match a.binding {
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

    /// The named operands and results of a scan.
    fn ports(&self) -> &'a dyn Ports {
        let ports = self.node.op.ports();
        ports.expect("kernels of scans are generated for scans")
    }

    /// Whether a result of a scan is read.
    fn wants(&self, port: Port) -> bool {
        self.wanted[self.ports().writes(port)]
    }

    /// Whether each of `count` results of a scan is read: `port(0)`, `port(1)`, …
    fn wants_each(&self, port: fn(usize) -> Port, count: usize) -> Vec<bool> {
        (0..count).map(|k| self.wants(port(k))).collect()
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
fn reads_as_literal(node: &Node, operand: usize) -> bool {
    let port = node.op.ports().map(|op| op.operands()[operand]);
    matches!(port, Some(Port::Initial(_) | Port::Param(_)))
}

/// Whether all readers of a constant value have it as a literal.
pub(crate) fn is_inlined(graph: &Graph, value: ValueId) -> bool {
    let is_output = graph.outputs.iter().any(|o| o.value == value);
    let read = |node: &Node| {
        let mut at = node.inputs.iter().enumerate().filter(|(_, v)| **v == value);
        at.all(|(k, _)| reads_as_literal(node, k))
    };
    !is_output && graph.nodes.iter().all(read)
}

/// Lowers a node.
pub(crate) fn lower(shared: &Shared, cx: &LoweringContext<'_>) -> Result<Vec<LoweredOp>> {
    check_context(&shared.gpu.name, cx)?;
    if !cx.outputs.is_empty() && cx.outputs.iter().all(TensorType::is_empty) {
        return Ok(vec![]);
    }
    let lowered = match &cx.node.op {
        Op::AllReduceStart(op) => all_reduce::lower(op, &shared.gpu, cx)?,
        Op::AllReduceDone(_) => vec![LoweredOp::AllReduceDone],
        Op::MatMul(op) => matmul::lower(op, shared, cx)?,
        Op::BatchMatMul(op) => batch_matmul::lower(op, shared, cx)?,
        Op::Conv(op) => conv::lower(op, shared, cx)?,
        Op::Custom(op) => custom::lower(op, &shared.gpu.name, cx)?,
        _ => kernels(cx)?.into_iter().map(LoweredOp::Kernel).collect(),
    };
    check_workspace(&shared.gpu.name, cx, &lowered)?;
    Ok(lowered)
}

/// Rejects actions that need a larger workspace than the plan has, and would overwrite other values:
/// the plan was created for another device, or a library's query failed during planning.
fn check_workspace(device: &str, cx: &LoweringContext<'_>, lowered: &[LoweredOp]) -> Result<()> {
    let needed = lowered.iter().map(LoweredOp::workspace).max().unwrap_or(0);
    if needed <= cx.workspace_bytes {
        return Ok(());
    }
    let problem = format!(
        "it needs a workspace of {needed} bytes, the plan has {}; create the plan again for this device",
        cx.workspace_bytes
    );
    Err(cx.refuse(device, &problem))
}

/// Rejects a node without a kernel for this GPU.
pub(crate) fn check(device: &str, gpu: &Properties, graph: &Graph, node: &Node) -> Result<()> {
    let wanted = vec![true; node.outputs.len()];
    check_context(device, &LoweringContext::new(gpu, graph, node, wanted))
}

fn check_context(device: &str, cx: &LoweringContext<'_>) -> Result<()> {
    let all = || cx.inputs.iter().chain(&cx.outputs);
    if all().any(|t| t.dtype == DType::F64) {
        return Err(cx.refuse(
            device,
            "f64 is supported on the CPU only, for references and gradient checks; use --device cpu, or f32, bf16 or f16",
        ));
    }
    if feeds_back(&cx.node.op) && !recurrent::fits(cx) {
        return Err(cx.refuse(
            device,
            "a tile of its neurons does not fit in a multiprocessor's shared memory; use fewer neurons, or bf16",
        ));
    }
    if let Op::DelayedMatMul(op) = &cx.node.op
        && op.lags > delayed_matmul::MAX_LAGS
    {
        let most = delayed_matmul::MAX_LAGS;
        return Err(cx.refuse(device, &format!("it has more than {most} lags; use fewer")));
    }
    let rows = |t: &TensorType| 32 * t.rows_and_columns().0;
    let by_rows = matches!(
        cx.node.op,
        Op::ArgMax(_) | Op::LogSoftmax(_) | Op::Reduce(_)
    );
    let largest = all().map(TensorType::len).max().unwrap_or(0);
    let warp_threads = cx
        .inputs
        .iter()
        .map(rows)
        .max()
        .filter(|_| by_rows)
        .unwrap_or(0);
    if largest.max(warp_threads) > i32::MAX as usize {
        return Err(cx.refuse(
            device,
            "a tensor has more than 2³¹ elements, or more than 2²⁶ rows to reduce; use a smaller \
             batch or fewer time steps",
        ));
    }
    Ok(())
}

/// The generated kernels of a node other than a matrix product, convolution, sum over ranks, loop or custom
/// operation.
pub(crate) fn kernels(cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
    let expression = |source| Error::Expression {
        layer: cx.node.layer.to_string(),
        operation: cx.node.op.name(),
        source,
    };
    Ok(match &cx.node.op {
        Op::ArgMax(_) => arg_max::kernels(cx),
        Op::Concat(op) => concat::kernels(op, cx),
        Op::DelayedMatMul(op) => delayed_matmul::kernels(op, cx),
        Op::Draw(op) => draw::kernels(op, cx),
        Op::Equal(_) => equal::kernels(cx),
        Op::Expand(op) => expand::kernels(op, cx),
        Op::Fill(op) => fill::kernels(op, cx),
        Op::Flip(op) => flip::kernels(op, cx),
        Op::Gather(op) => gather::kernels(op, cx),
        Op::GeneratorSteps(_) => generator_steps::kernels(cx),
        Op::LogSoftmax(_) => log_softmax::kernels(cx),
        Op::Map(op) => map::kernels(op, cx).map_err(expression)?,
        Op::AllReduceStart(_)
        | Op::AllReduceDone(_)
        | Op::BatchMatMul(_)
        | Op::Conv(_)
        | Op::Custom(_)
        | Op::ConcatChunks(_)
        | Op::Loop(_)
        | Op::MatMul(_)
        | Op::TimeChunk(_)
        | Op::Reshape(_) => vec![],
        Op::MeanVar(_) => mean_var::kernels(cx),
        Op::EventFrames(op) => event_frames::kernels(op, cx),
        Op::OneHot(op) => one_hot::kernels(op, cx),
        Op::Pack(_) => pack::kernels(cx),
        Op::Permute(op) => permute::kernels(op, cx),
        Op::Pool(op) => pool::kernels(op, cx),
        Op::PoolGrad(op) => pool::grad_kernels(op, cx),
        Op::RankUpdate(op) => rank_update::kernels(op, cx),
        Op::Reduce(op) => reduce::kernels(op, cx),
        Op::Scan(op) if op.feedback.is_some() => {
            recurrent::forward_kernels(op, cx).map_err(expression)?
        }
        Op::Scan(op) if op.pool.is_some() => block::kernels(op, cx).map_err(expression)?,
        Op::Scan(op) => scan::kernels(op, cx).map_err(expression)?,
        Op::ScanGrad(op) if op.of.feedback.is_some() => {
            recurrent::backward_kernels(op, cx).map_err(expression)?
        }
        Op::ScanGrad(op) if uses_block_kernel(op, &cx.inputs) => {
            block_grad::kernels(op, cx).map_err(expression)?
        }
        Op::ScanGrad(op) => scan_grad::kernels(op, cx).map_err(expression)?,
        Op::ScatterAdd(op) => gather::scatter_kernels(op, cx),
        Op::Slice(op) => slice::kernels(op, cx),
        Op::TopK(op) => top_k::kernels(op, cx),
    })
}

/// Whether an operation is a scan with feedback or its backward pass.
fn feeds_back(op: &Op) -> bool {
    op.ports().is_some_and(|op| op.scan().feedback.is_some())
}

/// Whether a backward scan is computed by [`block_grad`].
fn uses_block_kernel(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    let needs_blocks = op.of.pool.is_some() || op.channel_sums;
    needs_blocks && block_grad::supports(op, inputs)
}

/// Whether a backward scan can sum its parameters' gradients over all axes but the channels.
pub(crate) fn sums_channels(graph: &Graph, node: &Node) -> bool {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::ScanGrad(op) => block_grad::supports(op, &inputs),
        _ => false,
    }
}

/// Scans may run in place: a thread loads its neurons' elements of some steps, or its block, before it
/// stores there.
pub(crate) const OVERWRITES_SEQUENCES: bool = true;

/// What the plan of a graph depends on in the vendor's libraries.
pub(crate) trait Libraries {
    /// The workspace of a matrix product, in bytes.
    fn product_workspace(&self, product: Product) -> usize;

    /// The workspace of a convolution, in bytes.
    fn convolution_workspace(&self, convolution: &Convolution) -> usize;

    /// Whether the engine of a convolution computes on tensor cores.
    fn convolution_on_tensor_cores(&self, convolution: &Convolution) -> bool;
}

/// The workspace of a node, in bytes.
pub(crate) fn workspace(
    libraries: &dyn Libraries,
    gpu: &Properties,
    graph: &Graph,
    node: &Node,
) -> usize {
    let cx = LoweringContext::new(gpu, graph, node, vec![true; node.outputs.len()]);
    match &node.op {
        Op::Reduce(op) => reduce::workspace(op, &cx),
        Op::PoolGrad(op) => pool::grad_workspace(op, &cx),
        Op::Conv(op) => conv::workspace(op, libraries, &cx),
        Op::Custom(op) => custom::workspace(op, graph, node, &cx),
        Op::Loop(op) => loops::workspace(op),
        Op::MatMul(op) => matmul::workspace(op, libraries, &cx),
        Op::BatchMatMul(op) => batch_matmul::workspace(op, libraries, &cx),
        Op::MeanVar(_) => mean_var::workspace(&cx),
        op if feeds_back(op) => recurrent::workspace(&cx),
        Op::ScanGrad(op) if uses_block_kernel(op, &cx.inputs) => block_grad::workspace(op, &cx),
        Op::ScanGrad(op) => scan_grad::workspace(op, &cx),
        _ => 0,
    }
}

/// Steps between the checkpoints that a forward scan should write for the backward scan `node`.
pub(crate) fn scan_checkpoint(gpu: &Properties, graph: &Graph, node: &Node) -> Option<usize> {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        op if feeds_back(op) => None,
        Op::ScanGrad(op) if !uses_block_kernel(op, &inputs) => scan_grad::segment(op, gpu, &inputs),
        _ => None,
    }
}

/// Whether a node reads an operand as bits.
pub(crate) fn reads_bits(gpu: &Properties, graph: &Graph, node: &Node, operand: usize) -> bool {
    let inputs = types(graph, &node.inputs);
    match &node.op {
        Op::MatMul(op) => matmul::reads_bits(op, gpu, &inputs, operand),
        Op::ScanGrad(op) => op.operand(Port::Before) == Some(operand),
        _ => false,
    }
}

/// Whether a node writes its result as bits.
pub(crate) fn writes_bits(graph: &Graph, node: &Node, value: ValueId) -> bool {
    let inputs = types(graph, &node.inputs);
    let at = node.outputs.iter().position(|v| *v == value);
    match &node.op {
        Op::Draw(op) => op.writes_bits(),
        Op::Scan(op) => {
            let port = at.map(|at| op.results()[at]);
            port.is_some_and(|port| match &op.feedback {
                Some(feedback) => recurrent::writes_bits(op, feedback, &inputs, port),
                None => op.pool.is_none() && scan::writes_bits(&inputs, port),
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
