//! Broadcasting to a larger shape.

use super::*;
use std::ops::Range;

/// Repeats along new axes and axes of length 1. It is not materialized if the reader can broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expand {
    /// The new shape.
    pub shape: Vec<usize>,
}

impl Operation for Expand {
    fn kind(&self) -> Kind {
        Kind::new("expand", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("expand").list(&mut self.shape);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        expect_broadcast("does not broadcast", x, &self.shape)?;
        Ok(vec![TensorType::new(x.dtype, &*self.shape)])
    }

    fn changes_nothing(&self, inputs: &[TensorType]) -> bool {
        matches!(inputs, [x] if x.shape == self.shape)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        Ok(vec![Some(b.sum_to_shape_of(g, node.inputs[0])?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Semantics::new(inputs, outputs).broadcasting(0..1, inputs, &self.shape)
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        Some(Expand { shape }.into())
    }
}
