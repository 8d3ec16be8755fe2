//! Layers: one file each.

mod apart;
mod dropout;
mod flatten;
mod linear;
mod spiking;
mod time;

pub use dropout::Dropout;
pub use flatten::Flatten;
pub use linear::Linear;
pub(crate) use spiking::forward as forward_neuron;
pub use time::{EachStep, Function, TimeLast, TimeMean};
