//! Dropout.
//!
//! In training, y = x·m / (1 − p) with m ~ Bernoulli(1 − p); in evaluation, y = x. The mask m is the same at all time
//! steps, or drawn at each step.

use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::{RandomAxes, Var};
use spikelet_schema::Schema;

/// A probability below 1: otherwise nothing would remain.
pub(super) const PROBABILITY: Domain = Domain::at_least(0.0).below(1.0);

/// Drops features with probability `p` during training. The mask is drawn once per call and is the same at all
/// time steps, as in SpikingJelly's multi-step dropout; with [`each_step`](Self::each_step), each step has its own, as
/// PyTorch's dropout on a sequence.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Lif::new(2.0)).add(Dropout::new(0.25).each_step(true));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 4]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability that a feature is dropped.
    pub p: f64,
    /// Whether each time step has its own mask.
    pub each_step: bool,
}

impl Dropout {
    /// Drops features with probability `p`.
    pub fn new(p: f64) -> Self {
        Self {
            p,
            each_step: false,
        }
    }

    /// Sets whether each time step has its own mask.
    #[must_use]
    pub fn each_step(mut self, yes: bool) -> Self {
        self.each_step = yes;
        self
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

/// Drops complete samples of `[T, N, …]` with probability `p` during training, at all time steps: stochastic depth, where
/// `x` is the branch of a residual block.
pub(super) fn drop_samples(cx: &Context, x: &Var, p: f64) -> Result<Var> {
    let mut samples = vec![1; x.rank() - 1];
    samples[0] = x.dim(1);
    drop(cx, x, p, false, &samples)
}

/// Drops elements by a mask of shape `mask`, which broadcasts to a time step, or to the sequence if it is drawn at
/// each step.
fn drop(cx: &Context, x: &Var, p: f64, each_step: bool, mask: &[usize]) -> Result<Var> {
    cx.expect_domains("dropout", &[Constant::new("p", p, PROBABILITY)])?;
    if !cx.mode().training || p == 0.0 {
        return Ok(x.clone());
    }
    let draw = |axes| {
        let keep = cx.tracer().fill(cx.tracer().float(), mask, 1.0 - p);
        keep.bernoulli(&cx.generator(), axes)
    };
    let mask = match each_step {
        true => draw(RandomAxes::TimeAndBatch),
        false => cx.once(|| draw(RandomAxes::Batch)),
    };
    let scale = 1.0 / (1.0 - p);
    Ok(Var::map(&[x, &mask], |v| &v[0] * (&v[1] * scale)))
}

impl Module for Dropout {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("dropout", x, 2)?;
        let mask = x.shape()[usize::from(!self.each_step)..].to_vec();
        drop(cx, x, self.p, self.each_step, &mask)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Identity
    }
}

impl Module for Dropout2d {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("dropout", x, 3)?;
        let mut channels = vec![1; x.rank() - 1];
        channels[..2].copy_from_slice(&x.shape()[1..3]);
        drop(cx, x, self.p, false, &channels)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Identity
    }
}

/// Dropout of features, the same at all time steps.
///
/// `{ dropout = 0.5 }`, `{ dropout = 0.5, each_step = true }`
#[derive(Debug, Schema)]
#[schema(name = "dropout")]
pub(crate) struct DropoutKeys {
    /// The probability.
    #[schema(main, required, from = 0, below = 1)]
    p: f64,
    /// Whether each time step has a mask of its own.
    each_step: bool,
}

impl LayerKeys for DropoutKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ dropout = 0.25 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, Dropout::new(self.p).each_step(self.each_step))
    }
}

/// Dropout of complete channels, the same at all time steps.
///
/// `{ dropout2d = 0.1 }`
#[derive(Debug, Schema)]
#[schema(name = "dropout2d")]
pub(crate) struct Dropout2dKeys {
    /// The probability.
    #[schema(main, required, from = 0, below = 1)]
    p: f64,
}

impl LayerKeys for Dropout2dKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ dropout2d = 0.25 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, Dropout2d::new(self.p))
    }
}
