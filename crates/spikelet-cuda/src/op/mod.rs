//! Device code of the operations, one file each, with the file names of `spikelet-graph/src/op`.

pub(crate) mod all_reduce;
mod arg_max;
mod batch_matmul;
mod channels;
mod concat;
mod conv;
mod cumprod;
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
mod reduce;
mod scan;
mod schedule;
mod slice;
mod step;
mod top_k;
mod view;
mod warp;

use crate::dnn::Convolution;
use crate::error::failure;
use crate::gemm::Product;
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource};
use spikelet_expr::CompileError;
use spikelet_graph::op::{DeviceKernel, Op, Operation, Port, Ports};
use spikelet_graph::{
    DType, Error, Graph, Kernel, Location, Node, Plan, Result, TensorType, ValueId,
    for_each_operation,
};
use std::collections::HashMap;

pub(crate) use scan::overlap_chunks;

/// What an operation defines for GPUs, in its file.
pub(crate) trait CudaKernel {
    /// Its generated kernels.
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        Err(cx.refuse("it has no kernel for GPUs; use --device cpu"))
    }

    /// Its workspace and its actions: by default its generated kernels without a workspace.
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        Ok(Lowered::kernels(0, || self.kernels(cx)))
    }

    /// Whether a warp computes each row of an operand.
    fn is_by_rows(&self) -> bool {
        false
    }

    /// Whether it reads an operand as bits.
    fn reads_bits(&self, _gpu: &Properties, _inputs: &[TensorType], _operand: usize) -> bool {
        false
    }

    /// Whether it writes a result as bits.
    fn writes_bits(&self, _inputs: &[TensorType], _result: usize) -> bool {
        false
    }

    /// The value of all elements of its result.
    fn constant(&self) -> Option<f32> {
        None
    }

    /// Whether it has an operand as a literal if all elements of the operand are the same constant.
    fn takes_literal(&self, _operand: usize) -> bool {
        false
    }

    /// Whether it can sum its parameters' gradients over all axes but the channels.
    fn sums_channels(&self, _inputs: &[TensorType]) -> bool {
        false
    }

    /// Steps between the checkpoints that a forward scan should write for it.
    fn checkpoint(&self, _gpu: &Properties, _inputs: &[TensorType]) -> Option<usize> {
        None
    }
}

macro_rules! kernels {
    ($($name:ident)*) => {
        pub(crate) fn kernel_of(op: &Op) -> &dyn CudaKernel {
            match op { $(Op::$name(op) => op,)* }
        }
    };
}

for_each_operation!(kernels);

/// The GPU that nodes are lowered for, or one that is planned for without it.
pub(crate) trait Device {
    /// Its name in errors.
    fn name(&self) -> &str;

    fn properties(&self) -> &Properties;

    /// The workspace of a matrix product by cuBLASLt, in bytes.
    fn product_workspace(&self, product: Product) -> usize;

    /// The workspace of a convolution by cuDNN, in bytes.
    fn convolution_workspace(&self, convolution: &Convolution) -> usize;

    /// Whether the engine of a convolution computes on tensor cores.
    fn convolution_on_tensor_cores(&self, convolution: &Convolution) -> bool;
}

/// One of the actions of a node, which run in order.
pub(crate) enum LoweredOp {
    /// A generated kernel.
    Kernel(KernelSource),
    /// A matrix product by cuBLASLt, written to result 0.
    Gemm {
        product: Product,
        a: Binding,
        b: Binding,
        /// The offset of its workspace in that of the node.
        workspace: usize,
    },
    /// A convolution by cuDNN, written to result 0.
    Conv {
        convolution: Convolution,
        a: Binding,
        b: Binding,
        /// The offset of its workspace in that of the node.
        workspace: usize,
    },
    /// A kernel of a custom operation.
    CustomKernel(DeviceKernel),
    /// Sets result k to zero.
    Clear(usize),
    /// Sums of all operands over the ranks of the GPU's group, on its stream.
    AllReduceStart { ranks: usize },
    /// Makes the next actions wait for the sums that are the operands.
    AllReduceDone,
    /// The kernels of the body of a loop, for each step.
    Repeat,
}

/// The actions of a node, and the memory that they need.
pub(crate) struct Lowered<'a> {
    /// Bytes of scratch memory, behind the arena of its body if it has one.
    pub(crate) workspace: usize,
    actions: Box<dyn FnOnce() -> Result<Vec<LoweredOp>> + 'a>,
}

impl<'a> Lowered<'a> {
    /// Actions with a workspace of so many bytes. The planner asks for the workspace of a node many times: texts of kernels
    /// are written by `actions`, which it does not call.
    pub(crate) fn new(
        workspace: usize,
        actions: impl FnOnce() -> Result<Vec<LoweredOp>> + 'a,
    ) -> Self {
        Self {
            workspace,
            actions: Box::new(actions),
        }
    }

    /// Generated kernels with a workspace of so many bytes.
    pub(crate) fn kernels(
        workspace: usize,
        write: impl FnOnce() -> Result<Vec<KernelSource>> + 'a,
    ) -> Self {
        let actions = || Ok(write()?.into_iter().map(LoweredOp::Kernel).collect());
        Self::new(workspace, actions)
    }

    /// A product of both operands.
    fn product(product: Product, device: &dyn Device) -> Self {
        let Product { batch, m, n, k, .. } = product;
        if [batch, m, n, k].contains(&0) {
            return Self::new(0, || Ok(vec![LoweredOp::Clear(0)]));
        }
        Self::new(device.product_workspace(product), move || {
            Ok(vec![LoweredOp::Gemm {
                product,
                a: Binding::Read(0),
                b: Binding::Read(1),
                workspace: 0,
            }])
        })
    }

    /// The actions, in order.
    pub(crate) fn actions(self) -> Result<Vec<LoweredOp>> {
        (self.actions)()
    }

    /// The generated kernels among the actions.
    pub(crate) fn sources(self) -> Result<Vec<KernelSource>> {
        let actions = self.actions()?.into_iter();
        let sources = actions.filter_map(|action| match action {
            LoweredOp::Kernel(source) => Some(source),
            _ => None,
        });
        Ok(sources.collect())
    }
}

/// A node with its types, for lowering.
pub(crate) struct LoweringContext<'a> {
    pub(crate) device: &'a dyn Device,
    pub(crate) gpu: &'a Properties,
    pub(crate) node: &'a Node,
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) outputs: Vec<TensorType>,
    /// Whether each result has memory.
    pub(crate) wanted: Vec<bool>,
    /// The value of operands that are constant fills; a scan has them as literals and does not read them.
    pub(crate) constants: Vec<Option<f32>>,
}

/// A C++ literal with the bits of a number.
fn float_literal(x: f32) -> String {
    format!("__uint_as_float({:#x}u)", x.to_bits())
}

impl<'a> LoweringContext<'a> {
    /// A node of a graph that is being planned.
    pub(crate) fn new(device: &'a dyn Device, graph: &Graph, node: &'a Node) -> Self {
        Self {
            device,
            gpu: device.properties(),
            node,
            inputs: graph.types(&node.inputs),
            outputs: graph.types(&node.outputs),
            wanted: graph.written(node),
            constants: vec![None; node.inputs.len()],
        }
    }

    /// A kernel of a plan whose constants are `fills`.
    pub(crate) fn of_kernel(
        device: &'a dyn Device,
        plan: &'a Plan,
        kernel: &Kernel,
        fills: &HashMap<ValueId, f32>,
    ) -> Self {
        let node = &plan.graph.nodes[kernel.node];
        let written = kernel.writes.iter().map(|at| *at != Location::Unused);
        Self {
            wanted: written.collect(),
            constants: node.inputs.iter().map(|v| fills.get(v).copied()).collect(),
            ..Self::new(device, &plan.graph, node)
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
    pub(crate) fn refuse(&self, problem: &str) -> Error {
        failure(self.device.name(), format!("{}: {problem}", self.name()))
    }

    /// The error of an expression of the operation.
    fn expression(&self, source: CompileError) -> Error {
        Error::Expression {
            layer: self.node.layer.to_string(),
            operation: self.node.op.name(),
            source,
        }
    }

    /// Rejects types that no kernel supports.
    fn check(&self) -> Result<()> {
        let all = || self.inputs.iter().chain(&self.outputs);
        if all().any(|t| t.dtype == DType::F64) {
            return Err(self.refuse(
                "f64 is supported on the CPU only, for references and gradient checks; use --device cpu, or f32, bf16 or f16",
            ));
        }
        let largest = all().map(TensorType::len).max().unwrap_or(0);
        let warp_threads = match kernel_of(&self.node.op).is_by_rows() {
            true => 32 * self.inputs[0].rows_and_columns().0,
            false => 0,
        };
        if largest.max(warp_threads) > i32::MAX as usize {
            return Err(self.refuse(
                "a tensor has more than 2³¹ elements, or more than 2²⁶ rows to reduce; use a smaller \
                 batch or fewer time steps",
            ));
        }
        Ok(())
    }

    /// Lowers the node.
    pub(crate) fn lower(&self) -> Result<Lowered<'_>> {
        self.check()?;
        if !self.outputs.is_empty() && self.outputs.iter().all(TensorType::is_empty) {
            return Ok(Lowered::new(0, || Ok(vec![])));
        }
        kernel_of(&self.node.op).lower(self)
    }
}

/// The constants of values that nodes of the graph fill.
pub(crate) fn fills(graph: &Graph) -> HashMap<ValueId, f32> {
    let fill = |node: &Node| Some((*node.outputs.first()?, kernel_of(&node.op).constant()?));
    graph.nodes.iter().filter_map(fill).collect()
}

/// Whether all readers of a constant value have it as a literal.
pub(crate) fn is_inlined(graph: &Graph, value: ValueId) -> bool {
    let is_output = graph.outputs.iter().any(|o| o.value == value);
    let read = |node: &Node| {
        let mut at = node.inputs.iter().enumerate().filter(|(_, v)| **v == value);
        at.all(|(k, _)| kernel_of(&node.op).takes_literal(k))
    };
    !is_output && graph.nodes.iter().all(read)
}

#[cfg(test)]
mod tests;
