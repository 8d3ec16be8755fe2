//! Conversion of binary values to bits and back.

use super::*;

/// Converts values that are 0 or 1 from a floating-point type to bits or back. Inserted by the planner for
/// values that are known to be binary; other values than 0 become 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// The new type.
    pub to: DType,
}

impl Operation for Pack {
    fn kind(&self) -> Kind {
        let name = match self.to {
            DType::Bits => "pack",
            _ => "unpack",
        };
        Kind::new(name, Class::Elementwise)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let mut to_bits = self.to == DType::Bits;
        t.one_of(&mut to_bits, &[("pack", true), ("unpack", false)])
            .results(|types| self.to = types[0].dtype);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [x] = operands(inputs)?;
        let one_is_bits = (x.dtype == DType::Bits) != (self.to == DType::Bits);
        let float = |dtype: DType| dtype == DType::Bits || dtype.is_float();
        if !one_is_bits || !float(x.dtype) || !float(self.to) {
            return invalid!("from {} to {}", x.dtype, self.to;
                "pack floating-point values to bits, or bits to floating-point values");
        }
        Ok(vec![TensorType::new(self.to, x.shape.clone())])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(self.no_gradient("bits have no gradient; values are packed after differentiation"))
    }
}
