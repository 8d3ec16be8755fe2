//! The number formats of a network on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use spikelet::module::Precision;

/// Takes the names of the precisions.
pub fn precisions() -> impl TypedValueParser<Value = Precision> {
    let values = Precision::ALL.map(|precision| {
        PossibleValue::new(precision.name()).help(match precision {
            Precision::F32 => "32 bits",
            Precision::Tf32 => {
                "f32; matrix products with a 10-bit mantissa where the device supports it"
            }
            Precision::Bf16 => {
                "mixed precision: sequences in 16 bits with the exponent range of f32"
            }
            Precision::F16 => {
                "mixed precision: sequences in IEEE half precision, with loss scaling"
            }
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
