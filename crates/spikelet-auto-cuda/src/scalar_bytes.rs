//! Numbers in the representation of kernels.

use super::Description;
use super::params::Base;
use spikelet_graph::f16;

/// A number in the representation of its type: a half has the first two bytes, a pair all four.
pub(super) fn scalar_bytes(base: Option<Base>, given: &Description) -> [u8; 4] {
    let number = match given {
        Description::Int(value) => return value.to_le_bytes(),
        Description::Float(value) => *value,
        Description::Tensor { .. } => unreachable!("tensors have addresses"),
    };
    match base {
        Some(Base::Half | Base::Half2) => {
            let [low, high] = f16::from_f32(number).to_le_bytes();
            [low, high, low, high]
        }
        _ => number.to_le_bytes(),
    }
}
