//! Rate encoder.
//!
//! S[t] = 1 if u[t] ≤ x, with u uniform on (0, 1], drawn at each step, as in the Poisson encoder, but with its
//! own seed: models with different seeds have the same input spikes.

use super::Encoder;
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, RandomAxes, Var};

/// Spikes with the value as their probability, drawn with a separate seed.
///
/// | field | default | |
/// |---|---|---|
/// | `seed` | 0 | replaces the seed of the model; training steps are those of the model |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Replaces the seed of the model.
    pub seed: u32,
}

impl Encoder for Rate {
    spec!("rate");

    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        // The generator's state begins with the seed.
        let seed = cx.tracer().fill(DType::I64, [1], f64::from(self.seed));
        let generator = Var::concat(&[&seed, &cx.generator().slice(0, 1..GENERATOR_STATE)], 0);
        x.repeat_over_time(time_steps)
            .bernoulli(&generator, RandomAxes::TimeAndBatch)
    }
}
