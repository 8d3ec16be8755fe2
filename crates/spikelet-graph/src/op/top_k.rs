//! The largest elements of a row.

use super::*;

/// The `k` largest elements along the last axis, the largest first, and their i64 indices.
///
/// Of equal elements the first is taken first. NaN counts as larger than all numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopK {
    /// The number of elements.
    pub k: usize,
}

impl Operation for TopK {
    fn kind(&self) -> Kind {
        Kind::new("topk", Class::Reduction)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("topk[").value(&mut self.k).word("]");
    }

    fn outputs(&self, _: usize) -> usize {
        2
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [scores] = operands(inputs)?;
        expect_float(scores.dtype)?;
        let mut shape = scores.shape.clone();
        let Some(last) = shape.last_mut() else {
            return invalid!("needs a last axis"; "reshape the scores to [..., classes]");
        };
        if self.k > *last {
            return invalid!("the {} largest of {last} elements", self.k;
                "k must be at most the length of the last axis");
        }
        *last = self.k;
        let indices = TensorType::new(DType::I64, shape.clone());
        Ok(vec![TensorType::new(inputs[0].dtype, shape), indices])
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let Some(g) = b.grads[0] else {
            return Ok(vec![None]);
        };
        let shape = b.graph.shape(node.inputs[0]);
        let axis = shape.len() - 1;
        let scatter = ScatterAdd {
            axis,
            length: shape[axis],
            indexed: Indexed::Elements,
        };
        let sum = b.push1(scatter, &[g, node.outputs[1]])?;
        Ok(vec![Some(b.cast_as(sum, node.inputs[0])?)])
    }

    fn writes_unread(&self, _: usize) -> bool {
        true
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len() - 1, shape)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs).saturating_mul(self.k as u64)
    }
}
