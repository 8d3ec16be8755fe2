//! Equal chunks of a tensor along its first axis, as views.

use super::*;

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
    let chunk = whole.with_length(0, length / count);
    (chunk.bytes().checked_mul(count) == Some(whole.bytes())).then_some(chunk)
}

const NO_GRADIENT: &str = "time chunks are inserted after differentiation";

impl Operation for TimeChunk {
    fn kind(&self) -> Kind {
        Kind::new("time_chunk", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let mut number = self.index + 1;
        t.word("time_chunk[").value(&mut number);
        t.word(" of ").value(&mut self.count).word("]");
        self.index = number.saturating_sub(1);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [whole] = operands(inputs)?;
        match time_chunk_type(whole, self.count) {
            Some(chunk) if self.index < self.count => Ok(vec![chunk]),
            _ => invalid!("chunk {} of {} of {}", self.index, self.count, whole;
                "the number of chunks must divide the first axis"),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(self.no_gradient(NO_GRADIENT))
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: 0 }.semantics(inputs, outputs)
    }

    fn view(&self) -> Option<View> {
        Some(View::Chunk(self.index))
    }
}

impl Operation for ConcatChunks {
    fn kind(&self) -> Kind {
        Kind::new("concat_chunks", Class::Movement)
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first().filter(|t| !t.shape.is_empty()) else {
            return invalid!("no operands"; "pass at least one tensor");
        };
        if inputs.iter().any(|t| t != first) {
            return invalid!("the chunks differ in type"; "concatenate equal chunks of one tensor");
        }
        let length = first.shape[0].saturating_mul(inputs.len());
        Ok(vec![first.with_length(0, length)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(self.no_gradient(NO_GRADIENT))
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: 0 }.semantics(inputs, outputs)
    }

    fn view(&self) -> Option<View> {
        Some(View::Joined)
    }
}
