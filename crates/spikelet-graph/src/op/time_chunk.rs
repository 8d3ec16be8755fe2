//! Equal chunks of a tensor along its first axis, as views.

use super::{Concat, Operation, View, arity};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::TensorType;

/// Chunk `index` of `count` equal chunks along the first axis: a view of the operand's memory.
/// Inserted by the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeChunk {
    /// The number of the chunk, from 0.
    pub index: usize,
    /// The number of chunks.
    pub count: usize,
}

/// The concatenation of chunks that were computed one by one, as a view: their memory is contiguous.
/// Inserted by the planner; no operand is an operand of another `ConcatChunks` or of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConcatChunks;

/// The type of one of `count` equal chunks; `None` if `count` does not divide the first axis or the
/// bytes.
pub(crate) fn time_chunk_type(whole: &TensorType, count: usize) -> Option<TensorType> {
    let length = *whole.shape.first()?;
    if count == 0 || !length.is_multiple_of(count) {
        return None;
    }
    let mut shape = whole.shape.clone();
    shape[0] = length / count;
    let chunk = TensorType::new(whole.dtype, shape);
    (chunk.bytes().checked_mul(count) == Some(whole.bytes())).then_some(chunk)
}

fn no_gradient(what: String) -> Error {
    Error::Gradient {
        what,
        problem: "time chunks are inserted after differentiation".to_string(),
    }
}

impl Operation for TimeChunk {
    fn name(&self) -> String {
        "time_chunk".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let mut number = self.index + 1;
        t.word("time_chunk[")
            .value(&mut number)
            .word(" of ")
            .value(&mut self.count)
            .word("]");
        self.index = number.saturating_sub(1);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        match time_chunk_type(&inputs[0], self.count) {
            Some(chunk) if self.index < self.count => Ok(vec![chunk]),
            _ => Err(InvalidOp::new(
                format!("chunk {} of {} of {}", self.index, self.count, inputs[0]),
                "the number of chunks must divide the first axis",
            )),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(no_gradient(self.name()))
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: 0 }.semantics(inputs, outputs)
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn view(&self) -> Option<View> {
        Some(View::Chunk(self.index))
    }
}

impl Operation for ConcatChunks {
    fn name(&self) -> String {
        "concat_chunks".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("concat_chunks");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first().filter(|t| !t.shape.is_empty()) else {
            return Err(InvalidOp::new("no operands", "pass at least one tensor"));
        };
        if inputs.iter().any(|t| t != first) {
            return Err(InvalidOp::new(
                "the chunks differ in type",
                "concatenate equal chunks of one tensor",
            ));
        }
        let mut whole = first.clone();
        whole.shape[0] = whole.shape[0].saturating_mul(inputs.len());
        Ok(vec![whole])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(no_gradient(self.name()))
    }

    fn class(&self) -> Class {
        Class::Movement
    }

    fn storage(&self) -> Storage {
        Storage::Follows
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: 0 }.semantics(inputs, outputs)
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }

    fn view(&self) -> Option<View> {
        Some(View::Joined)
    }
}
