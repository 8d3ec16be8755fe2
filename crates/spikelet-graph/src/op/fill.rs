//! A constant tensor.

use super::{Op, Operation, arity};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics};
use crate::tensor::rounded;
use crate::text::Text;
use crate::types::TensorType;
use std::ops::Range;

/// A tensor whose elements all have one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fill {
    /// The tensor's type.
    pub ty: TensorType,
    /// The value.
    pub value: f64,
}

impl Fill {
    /// The value rounded to the tensor's type.
    pub fn stored(&self) -> f64 {
        rounded(self.value, self.ty.dtype)
    }
}

impl Operation for Fill {
    fn name(&self) -> String {
        "fill".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("fill[")
            .value(&mut self.value)
            .word("]")
            .results(|types| self.ty.clone_from(&types[0]));
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 0)?;
        Ok(vec![self.ty.clone()])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![])
    }

    fn class(&self) -> Class {
        Class::Constant
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Semantics::new(inputs, outputs).broadcasting(0..0, inputs, &self.ty.shape)
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        let ty = TensorType::new(self.ty.dtype, shape);
        Some(Fill { ty, ..*self }.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
