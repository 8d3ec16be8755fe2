//! One-hot vectors of class numbers.

use super::*;

/// `y[…, c] = 1` where `label[…] = c`, else 0. A label outside the classes gives all zeros, and so does the
/// ignored one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneHot {
    /// The number of classes.
    pub classes: usize,
    /// The element type of the result.
    pub dtype: DType,
    /// A label that may occur, in the classes or outside, and gives zeros.
    pub ignored: Option<i64>,
}

impl Operation for OneHot {
    fn kind(&self) -> Kind {
        Kind::new("one_hot", Class::Elementwise)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("one_hot")
            .optional(&mut self.ignored, "[ignores ", |t, label| {
                t.value(label).word("]")
            });
        t.results(|types| {
            self.classes = types[0].shape.last().copied().unwrap_or(0);
            self.dtype = types[0].dtype;
        });
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [labels] = operands(inputs)?;
        expect_labels(labels)?;
        expect_float(self.dtype)?;
        let shape = [&*labels.shape, &[self.classes]].concat();
        Ok(vec![TensorType::new(self.dtype, shape)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &inputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len(), shape)
    }
}
