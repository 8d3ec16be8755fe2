//! The class of the largest score.

use super::*;

/// The index of the largest element along the last axis; the first of equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgMax;

impl Operation for ArgMax {
    fn kind(&self) -> Kind {
        Kind::new("argmax", Class::Reduction).stored(Storage::Accumulated)
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [scores] = operands(inputs)?;
        expect_float(scores.dtype)?;
        match scores.shape.split_last() {
            Some((&n, rest)) if n > 0 => Ok(vec![TensorType::new(DType::I64, rest)]),
            _ => invalid!("needs a last axis with at least one element";
                "reshape the scores to [..., classes]"),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len(), shape)
    }
}
