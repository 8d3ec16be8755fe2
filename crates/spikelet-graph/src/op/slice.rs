//! A range along one axis.

use super::{Concat, Fill, Op, Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::TensorType;

/// The elements `start..end` of one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The axis.
    pub axis: usize,
    /// The first element.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Operation for Slice {
    fn name(&self) -> String {
        "slice".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("slice[")
            .value(&mut self.axis)
            .word(": ")
            .value(&mut self.start);
        t.word("..").value(&mut self.end).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        let mut shape = inputs[0].shape.clone();
        let length = shape.get(self.axis).copied();
        match length {
            Some(n) if self.start <= self.end && self.end <= n => {
                shape[self.axis] = self.end - self.start;
                Ok(vec![TensorType::new(inputs[0].dtype, shape)])
            }
            Some(n) => Err(InvalidOp::new(
                format!(
                    "range {}..{} of an axis with {n} elements",
                    self.start, self.end
                ),
                "the range must lie inside the axis",
            )),
            None => Err(InvalidOp::no_axis(self.axis, shape.len())),
        }
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        let ty = b.graph.ty(node.inputs[0]).clone();
        let mut parts = vec![];
        let pad = |b: &mut Backward<'_>, n: usize| -> Result<Option<ValueId>> {
            let mut shape = ty.shape.clone();
            shape[self.axis] = n;
            if n == 0 {
                return Ok(None);
            }
            let fill = Fill {
                ty: TensorType::new(ty.dtype, shape),
                value: 0.0,
            };
            b.push1(fill, &[]).map(Some)
        };
        parts.extend(pad(b, self.start)?);
        parts.push(g);
        parts.extend(pad(b, ty.shape[self.axis] - self.end)?);
        Ok(vec![Some(b.push1(Concat { axis: self.axis }, &parts)?)])
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
        Some(Slice { axis, ..*self }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
