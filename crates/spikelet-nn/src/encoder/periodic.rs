//! Periodic encoder.
//!
//! S[t] = x[t mod K], for a given train x of K steps.
//!
//! Source: SpikingFlow's `PeriodicEncoder`.

use super::Encoder;
use crate::module::Context;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Repeats a given spike train `[K, N, …]`. A sequence begins with its first step.
///
/// ```
/// use spikelet_nn::encoder::{Encoder, Periodic};
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let train = cx.tracer().input("train", DType::F32, [5, 2, 20]);
/// assert_eq!(Periodic.encode(&cx, &train, 13).shape(), [13, 2, 20]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Periodic;

impl Encoder for Periodic {
    fn encode(&self, _: &Context, x: &Var, time_steps: usize) -> Var {
        let period = x.dim(0).max(1);
        let periods = time_steps.div_ceil(period).max(1);
        let mut shape = [&[1], x.shape()].concat();
        let one = x.reshape(shape.clone());
        shape[0] = periods;
        let mut joined = x.shape().to_vec();
        joined[0] *= periods;
        let repeated = one.expand(shape).reshape(joined);
        repeated.slice(0, 0..time_steps)
    }
}
