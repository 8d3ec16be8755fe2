//! The class of the largest score.

use super::{Operation, arity, elements, expect_float};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics, Storage};
use crate::text::Text;
use crate::types::{DType, TensorType};

/// The index of the largest element along the last axis; the first of equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgMax;

impl Operation for ArgMax {
    fn name(&self) -> String {
        "argmax".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("argmax");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        expect_float(inputs[0].dtype)?;
        match inputs[0].shape.split_last() {
            Some((&n, rest)) if n > 0 => Ok(vec![TensorType::new(DType::I64, rest)]),
            _ => Err(InvalidOp::new(
                "needs a last axis with at least one element",
                "reshape the scores to [..., classes]",
            )),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn class(&self) -> Class {
        Class::Reduction
    }

    fn storage(&self) -> Storage {
        Storage::Accumulated
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len(), shape)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs)
    }
}
