//! Direct encoder.

use super::{Encoder, Plain};
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_graph::Var;

/// The value at each time step: the first layer is a trainable encoder. Values that are constant over time are
/// computed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Plain")]
pub struct Direct;

impl From<Plain> for Direct {
    fn from(_: Plain) -> Self {
        Self
    }
}

impl Encoder for Direct {
    spec!("direct");

    fn encode(&self, _: &Context, x: &Var, time_steps: usize) -> Var {
        x.repeat_over_time(time_steps)
    }
}
