//! Tensors by a formula: splitmix64 of a key and the index of an element.

use crate::case::{bounded, wrong};
use serde::Deserialize;
use spikelet::Result;
use spikelet::graph::Tensor;
use std::collections::BTreeMap;

/// A tensor of a case: uniform between `lo` and `hi`, or counts of events.
#[derive(Deserialize)]
pub struct Numbers {
    #[serde(default)]
    pub name: String,
    pub shape: Vec<usize>,
    #[serde(default)]
    kind: Kind,
    key: u64,
    #[serde(default)]
    lo: f64,
    #[serde(default)]
    hi: f64,
    /// Elements with keys of their own.
    #[serde(default)]
    redraw: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Uniform,
    Counts,
}

/// A number in [0, 1) with 24 binary digits.
fn fraction(key: u64, index: u64) -> f64 {
    let mut z = (key << 32)
        .wrapping_add(index)
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 40) as f64 / f64::from(1 << 24)
}

impl Numbers {
    /// The values, computed in f64 and rounded once to f32.
    pub fn tensor(&self) -> Result<Tensor> {
        if !(self.lo.is_finite() && self.hi.is_finite()) {
            let problem = format!("`{}` has limits that are not finite", self.name);
            return Err(wrong(problem, "give finite limits"));
        }
        let count = match &self.shape[..] {
            [] => 1,
            shape => bounded(shape)?,
        };
        let keys: BTreeMap<u64, u64> = self.redraw.iter().copied().collect();
        let value = |index: u64| match self.kind {
            Kind::Counts => (10.0 * fraction(self.key, index)).floor().max(6.0) - 6.0,
            Kind::Uniform => {
                let key = keys.get(&index).copied().unwrap_or(self.key);
                self.lo + (self.hi - self.lo) * fraction(key, index)
            }
        };
        let values: Vec<f32> = (0..count as u64).map(|index| value(index) as f32).collect();
        Ok(Tensor::f32(self.shape.clone(), values))
    }
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn fractions_are_those_of_the_format() {
        let scaled = |key, index| (fraction(key, index) * f64::from(1 << 24)) as u64;
        let expected = [
            ((0, 0), 14_819_496),
            ((0, 1), 9_505_325),
            ((1, 0), 12_856_410),
            ((1, 1), 2_114_449),
            ((4000, 12345), 7_050_972),
            ((123_456, 7), 16_307_822),
        ];
        for ((key, index), value) in expected {
            assert_eq!(scaled(key, index), value);
        }
    }
}
