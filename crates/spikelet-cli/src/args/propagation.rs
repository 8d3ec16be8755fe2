//! The execution order of layers and time steps on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use spikelet::module::Propagation;

/// Takes the names of the propagations.
pub fn propagations() -> impl TypedValueParser<Value = Propagation> {
    let values = Propagation::ALL.map(|propagation| {
        PossibleValue::new(propagation.name()).help(match propagation {
            Propagation::LayerByLayer => "each layer runs all time steps; a neuron is one kernel",
            Propagation::StepByStep => "all layers run one time step after the other",
            Propagation::StepByStepUnfused => {
                "step-by-step with separate kernels for charge, fire and reset"
            }
        })
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
