//! Rate encoder.
//!
//! S[t] = 1 if u[t] ≤ x, with u uniform on (0, 1] and fresh at each step, as the Poisson encoder has
//! it, but drawn with a seed of its own: two models that differ in their seeds see the same spikes.

use super::Encoder;
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_graph::op::GENERATOR_STATE;
use spikelet_graph::{DType, RandomAxes, Var};

/// Spikes with a probability that is the value, drawn with a seed of its own.
///
/// | field | default | |
/// |---|---|---|
/// | `seed` | 0 | takes the place of the model's; steps of training are counted as the model counts |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Takes the place of the model's seed.
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
