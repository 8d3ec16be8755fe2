//! The order in which layers and time steps run, as it is named on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use spikelet::module::Propagation;

/// Takes the names of the propagations.
pub fn propagations() -> impl TypedValueParser<Value = Propagation> {
    let values = Propagation::ALL.map(|propagation| {
        PossibleValue::new(propagation.name()).help(match propagation {
            Propagation::LayerByLayer => "each layer runs all time steps, a neuron in one kernel",
            Propagation::StepByStep => "each time step runs through all layers",
            Propagation::StepByStepUnfused => {
                "the same, and charge, fire and reset are kernels of their own"
            }
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
