//! Custom operations with custom backward passes.

use super::*;
use crate::device_code::{DeviceCall, DeviceCode};
use crate::host_tensor::{HostTensor, HostTensorMut};
use std::fmt::Debug;
use std::sync::Arc;

/// A custom operation: shape rule, computation and backward pass.
///
/// It runs on the CPU if it has [`CustomOp::run`], on a GPU if it has [`CustomOp::device_code`]. Its
/// operands and results have the types that they were traced with, independent of the precision of the
/// network. The same operands must give the same results: under a memory budget it may run a second
/// time instead of storing them.
pub trait CustomOp: Debug + Send + Sync {
    /// The name in errors and printed plans.
    fn name(&self) -> String;

    /// The number of outputs. [`Var::custom`](crate::Var::custom) returns this number of values, also
    /// after an earlier error.
    fn outputs(&self) -> usize {
        1
    }

    /// The types of its [`CustomOp::outputs`] outputs.
    ///
    /// # Errors
    /// When the operands do not fit.
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp>;

    /// Computes the outputs on the CPU. Every element of every output must be written.
    ///
    /// It may use another backend, but not the one that is running it, which copies no buffers and runs
    /// no other plan during a run. In this thread, and in tasks of its pool, such a call returns
    /// [`Error::Busy`](crate::Error::Busy); a thread that the operation starts would wait for the end of
    /// the run.
    ///
    /// # Errors
    /// When the computation fails. The default implementation, of an operation without code for the CPU,
    /// always fails.
    fn run(&self, _call: &mut HostCall<'_>) -> std::result::Result<(), InvalidOp> {
        invalid!("it has no code for the CPU";
            "run this network with --device cuda, or implement `run`")
    }

    /// The code for a GPU; `None` for an operation with code for the CPU only. It is called when a graph
    /// is planned and when the plan is loaded; the same call must return the same code. The kernels'
    /// text is not checked, so [`DeviceCode::new`] is `unsafe`.
    ///
    /// # Errors
    /// When there is no code for these operands.
    fn device_code(
        &self,
        _call: &DeviceCall<'_>,
    ) -> std::result::Result<Option<DeviceCode>, InvalidOp> {
        Ok(None)
    }

    /// The backward operation: its inputs are those that [`CustomOp::backward_operands`] lists, its
    /// outputs the gradients of this operation's inputs, one each. `None` if there is no gradient.
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        None
    }

    /// The operands of the backward operation, in order; by default all inputs of this operation, then
    /// the gradients of all its outputs. Tensors that are not listed are not saved for the backward pass.
    /// The gradient of an output that the loss does not depend on is passed as zeros.
    fn backward_operands(&self, inputs: usize, outputs: usize) -> Vec<BackwardOperand> {
        let inputs = (0..inputs).map(BackwardOperand::Input);
        let gradients = (0..outputs).map(BackwardOperand::Gradient);
        inputs.chain(gradients).collect()
    }

    /// Whether an output is skipped, without memory, if it is not read: one that only the backward
    /// operation reads, or a gradient that is not needed. By default all outputs are written.
    fn may_skip(&self, _output: usize) -> bool {
        false
    }

    /// Floating-point operations; by default one for each element of the outputs.
    fn flops(&self, _inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        elements(outputs)
    }
}

/// The operands and results of a custom operation on the CPU.
#[derive(Debug)]
pub struct HostCall<'a> {
    /// The types of the operands.
    pub input_types: &'a [TensorType],
    /// The types of the results.
    pub output_types: &'a [TensorType],
    /// The operands, row-major.
    pub inputs: Vec<HostTensor<'a>>,
    /// The results, row-major, with any content. A result that is skipped ([`CustomOp::may_skip`]) has
    /// no elements.
    pub outputs: Vec<HostTensorMut<'a>>,
}

/// An operand of a backward operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackwardOperand {
    /// Input k of the forward operation.
    Input(usize),
    /// Output k of the forward operation, which is saved for this.
    Output(usize),
    /// The gradient of output k of the forward operation.
    Gradient(usize),
}

/// A [`CustomOp`] in a graph.
#[derive(Clone, Debug)]
pub struct Custom(pub Arc<dyn CustomOp>);

/// Custom operations are equal if they are one object.
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Custom {
    /// The operands of the backward operation.
    fn operands_of_backward(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<ValueId>> {
        let list = (self.0).backward_operands(node.inputs.len(), node.outputs.len());
        let left = |k: usize| !list.contains(&BackwardOperand::Gradient(k));
        if let Some(k) = (0..node.outputs.len()).find(|&k| b.grads[k].is_some() && left(k)) {
            return Err(self.no_gradient(&format!(
                "the loss depends on its output {k}, whose gradient its backward does not read; \
                 detach that output, or list its gradient in `backward_operands`"
            )));
        }
        let mut operands = vec![];
        for operand in list {
            let (values, k, what) = match operand {
                BackwardOperand::Input(k) => (&node.inputs, k, "input"),
                BackwardOperand::Output(k) => (&node.outputs, k, "output"),
                BackwardOperand::Gradient(k) => (&node.outputs, k, "output"),
            };
            let Some(&value) = values.get(k) else {
                return Err(self.no_gradient(&format!(
                    "its backward reads {operand:?}, but it has {} {what}s; list 0 to {} in \
                     `backward_operands`",
                    values.len(),
                    values.len().saturating_sub(1)
                )));
            };
            operands.push(match (operand, b.grads.get(k).copied().flatten()) {
                (BackwardOperand::Gradient(_), Some(gradient)) => gradient,
                (BackwardOperand::Gradient(_), None) => b.zeros_like(value)?,
                _ => value,
            });
        }
        Ok(operands)
    }
}

impl Operation for Custom {
    fn kind(&self) -> Kind {
        Kind::new("custom", Class::Opaque)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word(&self.name());
    }

    fn outputs(&self, _: usize) -> usize {
        self.0.outputs()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        self.0.infer(inputs)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(backward) = self.0.backward() else {
            return Err(self.no_gradient(
                "the operation defines no `backward`; implement it or detach the result",
            ));
        };
        let operands = self.operands_of_backward(b, node)?;
        let made = b.push(Custom(backward), &operands)?;
        if made.len() != node.inputs.len() {
            return Err(self.no_gradient(&format!(
                "its backward operation returns {} gradients for {} inputs; return one for each input",
                made.len(),
                node.inputs.len()
            )));
        }
        for (&grad, &input) in made.iter().zip(&node.inputs) {
            if b.graph.ty(input).dtype.is_float() && b.graph.ty(grad) != b.graph.ty(input) {
                return Err(self.no_gradient(&format!(
                    "its backward operation returns a gradient of type {} for an input of type {}; return the input's type",
                    b.graph.ty(grad),
                    b.graph.ty(input)
                )));
            }
        }
        Ok(made.into_iter().map(Some).collect())
    }

    fn writes_unread(&self, result: usize) -> bool {
        !self.0.may_skip(result)
    }

    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        self.0.flops(inputs, outputs)
    }
}
