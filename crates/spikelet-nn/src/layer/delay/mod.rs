//! Delays of spikes: for each synapse, for each neuron, and in recurrent connections. One file a layer.
//!
//! A layer reads x[t − lag] for lags of at most L steps. The last L steps are its state `delay_line`, `[N, L, features]`,
//! so that a sequence that is passed in parts gives the results of the complete sequence.

mod axonal;
mod dcls;
mod delayed_linear;
mod feedback;
mod fixed;
mod interpolation;
mod line;
mod pad_time;
mod width;

pub use axonal::{AxonalDelay, DelayInterpolation};
pub use dcls::{Dcls1d, DclsVersion};
pub use delayed_linear::DelayedLinear;
pub use feedback::DelayedFeedback;
pub use fixed::FixedDelay;
pub use pad_time::PadTime;
pub use width::DelayWidth;
