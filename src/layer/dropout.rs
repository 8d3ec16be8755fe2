//! Dropout.
//!
//! In training, y = x·m / (1 − p) with m ~ Bernoulli(1 − p); in evaluation, y = x.

use crate::error::{Error, Result};
use crate::module::{Context, Module};
use spikelet_graph::Var;

/// Drops features with probability `p` while training. The mask is drawn once for a call and
/// stays the same over time, as SpikingJelly's multi-step dropout has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability that a feature is dropped.
    pub p: f64,
}

impl Dropout {
    /// Drops features with probability `p`.
    pub fn new(p: f64) -> Self {
        Self { p }
    }
}

impl Module for Dropout {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        if !(0.0..1.0).contains(&self.p) {
            return Err(Error::invalid(
                format!("dropout `{}`", cx.tracer().path()),
                format!("p = {} is no probability below 1", self.p),
                "use 0 ≤ p < 1",
            ));
        }
        cx.expect_rank("dropout", &x, 2)?;
        if !cx.mode().training || self.p == 0.0 {
            return Ok(x);
        }
        let mask = cx.once("mask", || {
            let float = cx.tracer().float();
            let keep = cx.tracer().fill(float, &x.shape()[1..], 1.0 - self.p);
            keep.bernoulli(&cx.generator(), false)
        });
        let scale = 1.0 / (1.0 - self.p);
        Ok(Var::map(&[&x, &mask], |v| &v[0] * (&v[1] * scale)))
    }
}
