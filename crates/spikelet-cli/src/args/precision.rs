//! The numbers that a network computes with, as they are named on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use spikelet::module::Precision;

/// Takes the names of the precisions.
pub fn precisions() -> impl TypedValueParser<Value = Precision> {
    let values = Precision::ALL.map(|precision| {
        PossibleValue::new(precision.name()).help(match precision {
            Precision::F32 => "32 bits throughout",
            Precision::Tf32 => "f32, multiplied with 10 binary digits where a device can",
            Precision::Bf16 => "16 bits between layers, with the range of f32",
            Precision::F16 => "16 bits between layers, with a scaled loss",
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
