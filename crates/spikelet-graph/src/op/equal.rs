//! Equality of class numbers.

use super::*;

/// 1 where two integer tensors agree, else 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Equal {
    /// The element type of the result.
    pub dtype: DType,
}

impl Operation for Equal {
    fn kind(&self) -> Kind {
        Kind::new("equal", Class::Elementwise)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("equal").results(|types| self.dtype = types[0].dtype);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [a, b] = operands(inputs)?;
        expect_labels(a)?;
        expect_labels(b)?;
        expect_float(self.dtype)?;
        if a.shape != b.shape {
            return invalid!("shapes differ: {} against {}", ShapeText(&a.shape), ShapeText(&b.shape);
                "compare tensors of one shape");
        }
        Ok(vec![TensorType::new(self.dtype, &*a.shape)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None, None])
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(&inputs[..1])
    }
}
