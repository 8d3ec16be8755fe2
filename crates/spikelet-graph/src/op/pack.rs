//! Conversion of binary values to bits and back.

use super::{Operation, arity};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Semantics};
use crate::text::Text;
use crate::types::{DType, TensorType};

/// Converts values that are 0 or 1 from a floating-point type to bits or back. Inserted by the planner for
/// values that are known to be binary; other values than 0 become 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// The new type.
    pub to: DType,
}

impl Operation for Pack {
    fn name(&self) -> String {
        match self.to {
            DType::Bits => "pack".to_string(),
            _ => "unpack".to_string(),
        }
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let mut to_bits = self.to == DType::Bits;
        t.one_of(&mut to_bits, &[("pack", true), ("unpack", false)])
            .results(|types| self.to = types[0].dtype);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        arity(inputs, 1)?;
        let x = &inputs[0];
        let one_is_bits = (x.dtype == DType::Bits) != (self.to == DType::Bits);
        let float = |dtype: DType| dtype == DType::Bits || dtype.is_float();
        if !one_is_bits || !float(x.dtype) || !float(self.to) {
            return Err(InvalidOp::new(
                format!("from {} to {}", x.dtype, self.to),
                "pack floating-point values to bits, or bits to floating-point values",
            ));
        }
        Ok(vec![TensorType::new(self.to, x.shape.clone())])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(Error::Gradient {
            what: self.name(),
            problem: "bits have no gradient; values are packed after differentiation".to_string(),
        })
    }

    fn class(&self) -> Class {
        Class::Elementwise
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let shape = &outputs[0].shape;
        Semantics::new(inputs, outputs).alike(0..shape.len(), shape)
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        0
    }
}
