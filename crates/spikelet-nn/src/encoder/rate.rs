//! Rate encoder.

use super::Encoder;
use crate::module::Context;
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, RandomAxes, Var};
use spikelet_schema::Schema;

/// Spikes with the probability of the value, drawn with a seed of its own.
///
/// `S[t] = 1` if `u[t] ≤ x`, with u uniform on (0, 1], drawn at each step: models with different seeds have the same input
/// spikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Rate {
    /// Replaces the seed of the model; training steps are those of the model.
    pub seed: u32,
}

impl Encoder for Rate {
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        // The generator's state begins with the seed.
        let seed = cx.tracer().fill(DType::I64, [1], f64::from(self.seed));
        let generator = Var::concat(&[&seed, &cx.generator().slice(0, 1..GENERATOR_STATE)], 0);
        x.repeat_over_time(time_steps)
            .bernoulli(&generator, RandomAxes::TimeAndBatch)
    }
}
