//! A constant tensor.

use super::*;
use crate::tensor::rounded;
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
    fn kind(&self) -> Kind {
        Kind::new("fill", Class::Constant)
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

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Semantics::new(inputs, outputs).broadcasting(0..0, inputs, &self.ty.shape)
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        let ty = TensorType::new(self.ty.dtype, shape);
        Some(Fill { ty, ..*self }.into())
    }
}
