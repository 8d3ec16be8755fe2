//! Poisson encoder.
//!
//! S[t] = 1 if u[t] ≤ x, with u uniform on (0, 1], drawn at each step.
//!
//! Source: SpikingFlow's `PoissonEncoder`.

use super::{Encoder, Plain};
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_graph::{RandomAxes, Var};

/// Spikes with the value, from 0 to 1, as their probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Plain")]
pub struct Poisson;

impl From<Plain> for Poisson {
    fn from(_: Plain) -> Self {
        Self
    }
}

impl Encoder for Poisson {
    spec!("poisson");

    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        x.repeat_over_time(time_steps)
            .bernoulli(&cx.generator(), RandomAxes::TimeAndBatch)
    }
}
