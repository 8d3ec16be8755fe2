//! Equal parts of a tensor along its first axis, where they lie.

use super::{Operation, arity};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::types::TensorType;

/// Part `index` of `count` equal parts along the first axis: a view of the operand's memory. Made
/// by the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeChunk {
    /// Which part, from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

/// Parts that were made one by one, as the whole that they are: their memory lies side by side.
/// Made by the planner, of operands that no other `ConcatChunks` and no view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcatChunks;

/// The type of one of `count` equal parts; `None` where the first axis or the memory cannot be cut
/// that way.
pub(crate) fn time_chunk_type(whole: &TensorType, count: usize) -> Option<TensorType> {
    let length = *whole.shape.first()?;
    if count == 0 || !length.is_multiple_of(count) {
        return None;
    }
    let mut shape = whole.shape.clone();
    shape[0] = length / count;
    let part = TensorType::new(whole.dtype, shape);
    (part.bytes().checked_mul(count) == Some(whole.bytes())).then_some(part)
}

fn no_gradient(what: String) -> Error {
    Error::Gradient {
        what,
        problem: "the planner cuts tensors after gradients are taken".to_string(),
    }
}

impl Operation for TimeChunk {
    fn name(&self) -> String {
        "part".to_string()
    }

    fn describe(&self) -> String {
        format!("part[{} of {}]", self.index + 1, self.count)
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        match time_chunk_type(&inputs[0], self.count) {
            Some(part) if self.index < self.count => Ok(vec![part]),
            _ => Err(InvalidOp::new(
                format!("part {} of {}", self.index, self.count),
                "the number of parts must divide the first axis",
            )),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(no_gradient(self.name()))
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn is_view(&self) -> bool {
        true
    }
}

impl Operation for ConcatChunks {
    fn name(&self) -> String {
        "join".to_string()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first().filter(|t| !t.shape.is_empty()) else {
            return Err(InvalidOp::new(
                "nothing to join",
                "give at least one tensor",
            ));
        };
        if inputs.iter().any(|t| t != first) {
            return Err(InvalidOp::new(
                "the parts differ",
                "join equal parts of one tensor",
            ));
        }
        let mut whole = first.clone();
        whole.shape[0] = whole.shape[0].saturating_mul(inputs.len());
        Ok(vec![whole])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(no_gradient(self.name()))
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn is_view(&self) -> bool {
        true
    }
}
