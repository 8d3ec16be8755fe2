//! Between class numbers and scores: one-hot, arg max, equality.

use super::{Operation, arity, elements};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::types::{DType, TensorType};

/// `y[…, c] = 1` where `label[…] = c`, else 0. A label outside the classes gives all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHot {
    /// The number of classes.
    pub classes: usize,
    /// The element type of the result.
    pub dtype: DType,
}

impl Operation for OneHot {
    fn name(&self) -> String {
        "one_hot".to_string()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        integers(&inputs[0])?;
        float(self.dtype)?;
        let mut shape = inputs[0].shape.clone();
        shape.push(self.classes);
        Ok(vec![TensorType::new(self.dtype, shape)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}

/// The index of the largest element along the last axis; the first of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgMax;

impl Operation for ArgMax {
    fn name(&self) -> String {
        "argmax".to_string()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        float(inputs[0].dtype)?;
        match inputs[0].shape.split_last() {
            Some((&n, rest)) if n > 0 => Ok(vec![TensorType::new(DType::I64, rest)]),
            _ => Err(InvalidOp::new(
                "needs a last axis with at least one element",
                "reshape the scores to [..., classes]",
            )),
        }
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None])
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs)
    }
}

/// 1 where two integer tensors agree, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    /// The element type of the result.
    pub dtype: DType,
}

impl Operation for Equal {
    fn name(&self) -> String {
        "equal".to_string()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 2)?;
        integers(&inputs[0])?;
        integers(&inputs[1])?;
        float(self.dtype)?;
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

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(&inputs[..1])
    }
}

fn integers(ty: &TensorType) -> std::result::Result<(), InvalidOp> {
    if ty.dtype == DType::I64 {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("expects class numbers (i64), not {}", ty.dtype),
        "pass labels as an i64 tensor",
    ))
}

fn float(dtype: DType) -> std::result::Result<(), InvalidOp> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("scores are floating-point numbers, not {dtype}"),
        "use f32 or f64",
    ))
}
