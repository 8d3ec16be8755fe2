//! Dropout.
//!
//! In training, y = x·m / (1 − p) with m ~ Bernoulli(1 − p); in evaluation, y = x.

use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree};
use spikelet_core::Result;
use spikelet_graph::{RandomAxes, Var};

/// Drops features with probability `p` during training. The mask is drawn once per call and is the same at all
/// time steps, as in SpikingJelly's multi-step dropout.
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

/// Drops complete channels of `[T, N, C, …]` with probability `p` during training, at all time steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout2d {
    /// The probability that a channel is dropped.
    pub p: f64,
}

impl Dropout2d {
    /// Drops channels with probability `p`.
    pub fn new(p: f64) -> Self {
        Self { p }
    }
}

/// Drops elements by a mask of shape `mask`, which broadcasts to a time step.
fn drop(cx: &Context, x: Var, p: f64, mask: &[usize]) -> Result<Var> {
    let domain = Domain::at_least(0.0).below(1.0);
    cx.expect_domains("dropout", &[Constant::new("p", p, domain)])?;
    if !cx.mode().training || p == 0.0 {
        return Ok(x);
    }
    let mask = cx.once("mask", || {
        let keep = cx.tracer().fill(cx.tracer().float(), mask, 1.0 - p);
        keep.bernoulli(&cx.generator(), RandomAxes::Batch)
    });
    let scale = 1.0 / (1.0 - p);
    Ok(Var::map(&[&x, &mask], |v| &v[0] * (&v[1] * scale)))
}

impl Module for Dropout {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("dropout", &x, 2)?;
        let step = x.shape()[1..].to_vec();
        drop(cx, x, self.p, &step)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

impl Module for Dropout2d {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("dropout", &x, 3)?;
        let mut channels = vec![1; x.rank() - 1];
        channels[..2].copy_from_slice(&x.shape()[1..3]);
        drop(cx, x, self.p, &channels)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
