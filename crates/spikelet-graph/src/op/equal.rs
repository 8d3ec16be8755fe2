//! Equality of class numbers.

use super::{Operation, arity, elements, expect_float, expect_labels};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics};
use crate::text::Text;
use crate::types::{DType, TensorType};

/// 1 where two integer tensors agree, else 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Equal {
    /// The element type of the result.
    pub dtype: DType,
}

impl Operation for Equal {
    fn name(&self) -> String {
        "equal".to_string()
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("equal").results(|types| self.dtype = types[0].dtype);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 2)?;
        expect_labels(&inputs[0])?;
        expect_labels(&inputs[1])?;
        expect_float(self.dtype)?;
        if inputs[0].shape != inputs[1].shape {
            return Err(mismatch(
                "shapes differ",
                &inputs[0].shape,
                &inputs[1].shape,
                "compare tensors of one shape",
            ));
        }
        Ok(vec![TensorType::new(self.dtype, inputs[0].shape.clone())])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None, None])
    }

    fn class(&self) -> Class {
        Class::Elementwise
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len(), shape)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(&inputs[..1])
    }
}
