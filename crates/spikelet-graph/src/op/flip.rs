//! The elements of an axis in reverse order.

use super::{Concat, Op, Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::{DType, TensorType};

/// `y[…, k, …] = x[…, n − 1 − k, …]` along one axis of n elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flip {
    /// The axis.
    pub axis: usize,
}

impl Operation for Flip {
    fn name(&self) -> String {
        "flip".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("flip[").value(&mut self.axis).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        let x = &inputs[0];
        if self.axis >= x.shape.len() {
            return Err(InvalidOp::no_axis(self.axis, x.shape.len()));
        }
        if x.dtype == DType::Bits {
            return Err(InvalidOp::new(
                "cannot reverse bits",
                "convert to a floating-point type",
            ));
        }
        Ok(vec![x.clone()])
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        Ok(vec![Some(b.push1(*self, &[g])?)])
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: self.axis }.semantics(inputs, outputs)
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let axis = *order.get(self.axis)?;
        Some(Flip { axis }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
