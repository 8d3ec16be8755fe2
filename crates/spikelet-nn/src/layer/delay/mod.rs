//! Delays of spikes: for each synapse, for each neuron, and in recurrent connections. One file a layer.
//!
//! A layer reads x[t − lag] for lags of at most L steps. The last L steps are its state `delay_line`, `[N, L, features]`,
//! so that a sequence that is passed in parts gives the results of the complete sequence.

mod interpolation;
mod line;

use crate::network::kind::layers;

layers! {
    mod feedback: DelayedFeedback;
    mod dcls: Dcls1d, DclsVersion => Dcls1dKeys;
    mod delayed_linear: DelayedLinear => DelayedLinearKeys;
    mod axonal: AxonalDelay, DelayInterpolation => AxonalDelayKeys;
    mod pad_time: PadTime => PadTimeKeys;
    mod fixed: FixedDelay;
    mod width: DelayWidth;
}

pub(super) use feedback::FeedbackDelayKeys;

/// The largest delay of a file.
const MAX_DELAY: usize = 4096;
