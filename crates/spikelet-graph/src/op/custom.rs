//! A user's own operation, with its own backward pass.

use super::{Operation, elements};
use crate::backward::Backward;
use crate::error::{Error, Refusal, Result};
use crate::graph::{Node, ValueId};
use crate::tensor::{Data, Tensor};
use crate::types::TensorType;
use half::{bf16, f16};
use std::fmt::Debug;
use std::sync::Arc;

/// A tensor in host memory that a custom operation reads.
pub enum HostTensor<'a> {
    /// 32-bit floating point.
    F32(&'a [f32]),
    /// 64-bit floating point.
    F64(&'a [f64]),
    /// 16-bit floating point, IEEE 754.
    F16(&'a [f16]),
    /// 16-bit floating point with the exponent of f32.
    BF16(&'a [bf16]),
    /// 64-bit integers.
    I64(&'a [i64]),
}

/// A tensor in host memory that a custom operation writes.
pub enum HostTensorMut<'a> {
    /// 32-bit floating point.
    F32(&'a mut [f32]),
    /// 64-bit floating point.
    F64(&'a mut [f64]),
    /// 16-bit floating point, IEEE 754.
    F16(&'a mut [f16]),
    /// 16-bit floating point with the exponent of f32.
    BF16(&'a mut [bf16]),
    /// 64-bit integers.
    I64(&'a mut [i64]),
}

impl<'a> From<&'a Tensor> for HostTensor<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        match &tensor.data {
            Data::F32(v) => Self::F32(v),
            Data::F64(v) => Self::F64(v),
            Data::F16(v) => Self::F16(v),
            Data::BF16(v) => Self::BF16(v),
            Data::I64(v) => Self::I64(v),
        }
    }
}

impl<'a> From<&'a mut Tensor> for HostTensorMut<'a> {
    fn from(tensor: &'a mut Tensor) -> Self {
        match &mut tensor.data {
            Data::F32(v) => Self::F32(v),
            Data::F64(v) => Self::F64(v),
            Data::F16(v) => Self::F16(v),
            Data::BF16(v) => Self::BF16(v),
            Data::I64(v) => Self::I64(v),
        }
    }
}

/// An operation that the graph does not know: shape rule, computation and backward pass.
pub trait CustomOp: Debug + Send + Sync {
    /// Its name in errors and printed plans.
    fn name(&self) -> String;

    /// The types of its outputs.
    ///
    /// # Errors
    /// When the operands do not fit.
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, Refusal>;

    /// Computes the outputs on the CPU. Every element of every output must be written.
    fn run(&self, inputs: &[HostTensor<'_>], outputs: &mut [HostTensorMut<'_>]);

    /// The operation whose inputs are those of this one followed by the gradients of its
    /// outputs, and whose outputs are the gradients of its inputs. `None`: no gradient.
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        None
    }

    /// Floating-point operations; one an element of the outputs unless said otherwise.
    fn flops(&self, _inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        elements(outputs)
    }
}

/// A [`CustomOp`] in a graph.
#[derive(Clone, Debug)]
pub struct Custom(pub Arc<dyn CustomOp>);

impl Operation for Custom {
    fn name(&self) -> String {
        self.0.name()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, Refusal> {
        self.0.infer(inputs)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(backward) = self.0.backward() else {
            return Err(Error::Gradient {
                what: self.name(),
                problem: "the operation defines no `backward`; give it one or detach its result"
                    .to_string(),
            });
        };
        let mut operands = node.inputs.clone();
        for (k, &output) in node.outputs.iter().enumerate() {
            operands.push(match b.grads[k] {
                Some(g) => g,
                None => b.zeros_like(output)?,
            });
        }
        let made = b.push(Custom(backward), &operands)?;
        if made.len() != node.inputs.len() {
            return Err(Error::Gradient {
                what: self.name(),
                problem: format!(
                    "its backward makes {} tensors for {} inputs; make one each",
                    made.len(),
                    node.inputs.len()
                ),
            });
        }
        for (&grad, &input) in made.iter().zip(&node.inputs) {
            if b.graph.ty(input).dtype.is_float() && b.graph.ty(grad) != b.graph.ty(input) {
                return Err(Error::Gradient {
                    what: self.name(),
                    problem: format!(
                        "its backward makes {} for an input of {}; make them alike",
                        b.graph.ty(grad),
                        b.graph.ty(input)
                    ),
                });
            }
        }
        Ok(made.into_iter().map(Some).collect())
    }

    fn writes_all(&self) -> bool {
        true
    }

    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        self.0.flops(inputs, outputs)
    }
}
