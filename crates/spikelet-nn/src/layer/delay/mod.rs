//! Delays of spikes: for each synapse, for each neuron, and in recurrent connections. One file a layer.
//!
//! A layer reads x[t − lag] for lags of at most L steps. The last L steps are its state `delay_line`, `[N, L, features]`,
//! so that a sequence that is passed in parts gives the results of the complete sequence.

mod interpolation;
mod line;

use crate::domain::Domain;
use crate::network::LayerKey;
use crate::network::kind::{LayerFields, key, layers};
use spikelet_core::document::Located;

layers! {
    mod feedback: DelayedFeedback => DELAYED_RECURRENT;
    mod dcls: Dcls1d, DclsVersion => DCLS;
    mod delayed_linear: DelayedLinear => DELAYED_LINEAR;
    mod axonal: AxonalDelay, DelayInterpolation => AXONAL_DELAY;
    mod pad_time: PadTime => PAD_TIME;
    mod fixed: FixedDelay;
    mod width: DelayWidth;
}

/// The largest delay of a file.
const MAX_DELAY: usize = 4096;

const MAX_DELAY_KEY: LayerKey = key!(max_delay: "integer", "the longest delay in time steps");

fn max_delay(layer: &LayerFields<'_>) -> Result<usize, Located> {
    let most = layer.fields.require("max_delay", "the longest delay")?;
    most.integer("max_delay", 0..=MAX_DELAY)
}

/// The width of kernels in time steps.
fn read_width(layer: &LayerFields<'_>) -> Result<Option<f64>, Located> {
    layer.number("width", Domain::at_least(0.0).at_most(MAX_DELAY as f64))
}
