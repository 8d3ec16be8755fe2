//! Poisson encoder.

use super::Encoder;
use crate::module::Context;
use spikelet_graph::{RandomAxes, Var};
use spikelet_schema::Schema;

/// Spikes with the probability of the value, from 0 to 1.
///
/// `S[t] = 1` if `u[t] ≤ x`, with u uniform on (0, 1], drawn at each step.
///
/// Source: SpikingFlow's `PoissonEncoder`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Poisson;

impl Encoder for Poisson {
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        x.repeat_over_time(time_steps)
            .bernoulli(&cx.generator(), RandomAxes::TimeAndBatch)
    }
}
