//! Concatenation along an axis.

use super::{Op, Operation, Slice};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::TensorType;

/// Concatenates tensors along one axis; all other axes must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
}

impl Operation for Concat {
    fn name(&self) -> String {
        "concat".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("concat[").value(&mut self.axis).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first() else {
            return Err(InvalidOp::new("no operands", "pass at least one tensor"));
        };
        if self.axis >= first.shape.len() {
            return Err(InvalidOp::no_axis(self.axis, first.shape.len()));
        }
        let mut shape = first.shape.clone();
        shape[self.axis] = 0;
        for input in inputs {
            let mut other = input.shape.clone();
            let fits = other.len() == shape.len() && input.dtype == first.dtype && {
                let length = other[self.axis];
                other[self.axis] = shape[self.axis];
                let same = other == shape;
                shape[self.axis] = shape[self.axis].saturating_add(length);
                same
            };
            if !fits {
                return Err(mismatch(
                    "the tensors' shapes or types differ",
                    &first.shape,
                    &input.shape,
                    "all axes except the concatenated one, and the element types, must be equal",
                ));
            }
        }
        Ok(vec![TensorType::new(first.dtype, shape)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None; node.inputs.len()]);
        };
        let mut start = 0;
        let mut grads = vec![];
        for (k, &input) in node.inputs.iter().enumerate() {
            let end = start + b.graph.shape(input)[self.axis];
            let slice = Slice {
                axis: self.axis,
                start,
                end,
            };
            grads.push(if b.wanted[k] {
                Some(b.push1(slice, &[g])?)
            } else {
                None
            });
            start = end;
        }
        Ok(grads)
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs)
            .alike(0..self.axis, shape)
            .alike(self.axis + 1..shape.len(), shape)
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let axis = *order.get(self.axis)?;
        Some(Concat { axis }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
