//! Direct encoder.

use super::Encoder;
use crate::module::Context;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The value itself at each step.
///
/// The first layer is a trainable encoder. Values that are constant over time are
/// computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Direct;

impl Encoder for Direct {
    fn encode(&self, _: &Context, x: &Var, time_steps: usize) -> Var {
        x.repeat_over_time(time_steps)
    }
}
