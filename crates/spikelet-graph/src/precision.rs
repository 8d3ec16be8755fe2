//! The precision of a network.

use crate::types::DType;
use spikelet_schema::Schema;

/// The storage type of long sequences, and the precision of matrix products and convolutions.
/// Parameters, optimizer states and carried states are always f32.
///
/// ```
/// use spikelet_graph::Precision;
/// assert_eq!("bf16".parse(), Ok(Precision::Bf16));
/// assert_eq!(Precision::Tf32.to_string(), "tf32");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Schema)]
pub enum Precision {
    /// f32 throughout.
    #[default]
    F32,
    /// f32 storage; products in TF32 (10 bits of mantissa) on devices with tensor cores.
    Tf32,
    /// Products and sequences in bf16: the range of f32, 7 bits of mantissa.
    Bf16,
    /// Products and sequences in f16: 10 bits of mantissa, magnitudes from 6·10⁻⁸ to 65504.
    ///
    /// Small gradients underflow and large ones overflow: scale the loss.
    F16,
}

impl Precision {
    /// The type that sequences between layers are stored in: f32, bf16 or f16.
    pub fn storage_dtype(self) -> DType {
        match self {
            Self::F32 | Self::Tf32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }
}
