//! The precision of a network.

use crate::types::DType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The storage type of long sequences, and the precision of matrix products and convolutions.
/// Parameters, optimizer states and carried states are always f32.
///
/// ```
/// use spikelet_graph::Precision;
/// assert_eq!("bf16".parse(), Ok(Precision::Bf16));
/// assert_eq!(Precision::Tf32.to_string(), "tf32");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// f32 throughout.
    #[default]
    F32,
    /// f32 storage; products in TF32 (10 bits of mantissa) on devices with tensor cores.
    Tf32,
    /// Products and sequences in bf16: the range of f32, 7 bits of mantissa.
    Bf16,
    /// Products and sequences in f16: 10 bits of mantissa, magnitudes from 6·10⁻⁸ to 65504. Small
    /// gradients underflow and large ones overflow: scale the loss.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::F32, Self::Tf32, Self::Bf16, Self::F16];

    /// The name: `f32`, `tf32`, `bf16` or `f16`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// The type that sequences between layers are stored in: f32, bf16 or f16.
    pub fn storage_dtype(self) -> DType {
        match self {
            Self::F32 | Self::Tf32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An unknown name of a precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown precision `{0}`; use f32, tf32, bf16 or f16")]
pub struct UnknownPrecision(pub String);

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(text: &str) -> Result<Self, UnknownPrecision> {
        let found = Self::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| UnknownPrecision(text.to_string()))
    }
}
