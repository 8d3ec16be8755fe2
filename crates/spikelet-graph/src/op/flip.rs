//! The elements of an axis in reverse order.

use super::*;

/// `y[…, k, …] = x[…, n − 1 − k, …]` along one axis of n elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flip {
    /// The axis.
    pub axis: usize,
}

impl Operation for Flip {
    fn kind(&self) -> Kind {
        Kind::new("flip", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("flip[").value(&mut self.axis).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        expect_axis(x, self.axis)?;
        if x.dtype == DType::Bits {
            return invalid!("cannot reverse bits"; "convert to a floating-point type");
        }
        Ok(vec![x.clone()])
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        Ok(vec![Some(b.push1(*self, &[g])?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: self.axis }.semantics(inputs, outputs)
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let axis = *order.get(self.axis)?;
        Some(Flip { axis }.into())
    }
}
