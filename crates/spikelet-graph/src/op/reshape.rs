//! Reshaping.

use super::*;
use std::ops::Range;

/// The same elements in the same order, with another shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reshape {
    /// The new shape.
    pub shape: Vec<usize>,
}

impl Operation for Reshape {
    fn kind(&self) -> Kind {
        Kind::new("reshape", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("reshape").list(&mut self.shape);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        let made = TensorType::new(x.dtype, &*self.shape);
        made.check_size()?;
        if made.len() != x.len() {
            let shape = ShapeText(&self.shape);
            return invalid!("{} elements do not fill the shape {shape}, which has {}", x.len(), made.len();
                "the number of elements must stay the same");
        }
        Ok(vec![made])
    }

    fn changes_nothing(&self, inputs: &[TensorType]) -> bool {
        matches!(inputs, [x] if x.shape == self.shape)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        Ok(vec![Some(b.reshape_as(g, node.inputs[0])?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        for (length, from, to) in common_axes(&inputs[0].shape, &self.shape) {
            s.axis(Role::Parallel, length, [(0, from)], [(0, to)]);
        }
        s
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let shape = results[0].shape.clone();
        Some(Reshape { shape }.into())
    }

    fn view(&self) -> Option<View> {
        Some(View::Operand)
    }
}
