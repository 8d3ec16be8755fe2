//! Broadcasting to a larger shape.

use super::{Op, Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::{TensorType, broadcast};
use std::ops::Range;

/// Repeats along new axes and axes of length 1. It is not materialized if the reader can broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expand {
    /// The new shape.
    pub shape: Vec<usize>,
}

impl Operation for Expand {
    fn name(&self) -> String {
        "expand".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("expand").list(&mut self.shape);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        if broadcast(&inputs[0].shape, &self.shape).as_deref() != Some(&self.shape) {
            return Err(mismatch(
                "does not broadcast",
                &inputs[0].shape,
                &self.shape,
                "axes must be equal or 1, counted from the last",
            ));
        }
        Ok(vec![TensorType::new(inputs[0].dtype, self.shape.clone())])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        Ok(vec![Some(b.sum_to_shape_of(g, node.inputs[0])?)])
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Semantics::new(inputs, outputs).broadcasting(0..1, inputs, &self.shape)
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        Some(Expand { shape }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
