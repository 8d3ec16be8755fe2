//! A range along one axis.

use super::*;

/// The elements `start..end` of one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The axis.
    pub axis: usize,
    /// The first element.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Operation for Slice {
    fn kind(&self) -> Kind {
        Kind::new("slice", Class::Movement)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("slice[").value(&mut self.axis).word(": ");
        t.value(&mut self.start).word("..");
        t.value(&mut self.end).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        let n = expect_axis(x, self.axis)?;
        if self.start > self.end || self.end > n {
            return invalid!("range {}..{} of an axis with {n} elements", self.start, self.end;
                "the range must lie inside the axis");
        }
        Ok(vec![x.with_length(self.axis, self.end - self.start)])
    }

    fn changes_nothing(&self, inputs: &[TensorType]) -> bool {
        matches!(inputs, [x] if self.start == 0 && x.shape.get(self.axis) == Some(&self.end))
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let g = b.grad();
        let ty = b.graph.ty(node.inputs[0]).clone();
        let mut parts = vec![g];
        if self.start > 0 {
            parts.insert(0, b.fill(ty.with_length(self.axis, self.start), 0.0)?);
        }
        let behind = ty.shape[self.axis] - self.end;
        if behind > 0 {
            parts.push(b.fill(ty.with_length(self.axis, behind), 0.0)?);
        }
        Ok(vec![Some(b.push1(Concat { axis: self.axis }, &parts)?)])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        Concat { axis: self.axis }.semantics(inputs, outputs)
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let axis = *order.get(self.axis)?;
        Some(Slice { axis, ..*self }.into())
    }
}
