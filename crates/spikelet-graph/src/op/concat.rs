//! Concatenation along an axis.

use super::*;

/// Concatenates tensors along one axis; all other axes must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
}

impl Operation for Concat {
    fn kind(&self) -> Kind {
        Kind::new("concat", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("concat[").value(&mut self.axis).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first() else {
            return invalid!("no operands"; "pass at least one tensor");
        };
        expect_axis(first, self.axis)?;
        let fits = |x: &TensorType, n: usize| first.with_length(self.axis, n) == *x;
        let mut length: usize = 0;
        for x in inputs {
            match x.shape.get(self.axis) {
                Some(own) if fits(x, *own) => length = length.saturating_add(*own),
                _ => {
                    return invalid!("the tensors' shapes or types differ: {} against {}",
                        ShapeText(&first.shape), ShapeText(&x.shape);
                        "all axes except the concatenated one, and the element types, must be equal");
                }
            }
        }
        Ok(vec![first.with_length(self.axis, length)])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let (g, axis) = (b.grad(), self.axis);
        let (mut start, mut grads) = (0, vec![]);
        for (k, &input) in node.inputs.iter().enumerate() {
            let end = start + b.graph.shape(input)[axis];
            grads.push(match b.wanted[k] {
                true => Some(b.push1(Slice { axis, start, end }, &[g])?),
                false => None,
            });
            start = end;
        }
        Ok(grads)
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
}
