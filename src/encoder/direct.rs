//! Direct encoder.

use super::Encoder;
use crate::module::Context;
use spikelet_graph::Var;

/// The value itself at each step: the first layer is the encoder, and learns. What does not
/// change over time is computed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direct;

impl Encoder for Direct {
    fn encode(&self, _: &Context, x: &Var, time_steps: usize) -> Var {
        x.repeat_over_time(time_steps)
    }
}
