//! Logarithm of the softmax.

use super::{Map, Operation, Reduce, arity, elements};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::TensorType;

/// `y = x − max − ln Σ exp(x − max)` along the last axis. The result of 16-bit scores is f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSoftmax;

impl Operation for LogSoftmax {
    fn name(&self) -> String {
        "log_softmax".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("log_softmax");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        if !inputs[0].dtype.is_float() || inputs[0].shape.last().is_none_or(|&n| n == 0) {
            return Err(InvalidOp::new(
                "needs floating-point scores with a last axis of at least one class",
                "reshape the scores to [..., classes]",
            ));
        }
        let TensorType { dtype, shape } = inputs[0].clone();
        Ok(vec![TensorType::new(dtype.arithmetic(), shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        let y = node.outputs[0];
        let shape = b.graph.shape(y).to_vec();
        let last = Reduce::sum(vec![shape.len() - 1]);
        let total = b.push1(last.clone(), &[g])?;
        let total = b.reshape(total, last.kept_shape(&shape))?;
        let expression = Map::operand(0) - Map::operand(1).exp() * Map::operand(2);
        let dtype = b.graph.ty(node.inputs[0]).dtype;
        let grad = b.map1(expression, shape, dtype, &[g, y, total])?;
        Ok(vec![Some(grad)])
    }

    fn class(&self) -> Class {
        Class::Reduction
    }

    fn storage(&self) -> Storage {
        Storage::Accumulated
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len() - 1, shape)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs).saturating_mul(5)
    }
}
