//! Delta modulation.
//!
//! S[t] = 1 if X[t] − X[t−1] ≥ threshold and, with `off_spikes`, −1 if X[t] − X[t−1] ≤ −threshold.
//!
//! Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning,
//! Proceedings of the IEEE 111:1016, 2023 (snnTorch's `spikegen.delta`).

use super::run;
use crate::domain::Constant;
use crate::module::{Context, Module, Tree};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use spikelet_schema::Schema;

/// Spikes at the changes of a sequence: a module `[T, N, …] → [T, N, …]`, the first of a network.
///
/// ```
/// use spikelet_nn::encoder::Delta;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Delta::default()).add(Linear::new(20, 10)).add(If::new());
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Delta {
    /// The minimal change for a spike.
    #[schema(default = 0.1, above = 0.0)]
    pub threshold: f64,
    /// Whether a decrease produces a spike of −1.
    pub off_spikes: bool,
    /// Whether the first step is compared with 0; otherwise it has no spikes.
    pub from_zero: bool,
}

impl Module for Delta {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("delta", x, 2)?;
        cx.expect_domains("delta", &Constant::all(self))?;
        let [now, before, seen] = ["x", "before", "seen"].map(Expr::symbol);
        let change = &now - before;
        let change = match self.from_zero {
            true => change,
            false => Expr::select(seen, change, 0.0),
        };
        let rises = change.ge(self.threshold);
        let spike = match self.off_spikes {
            true => rises - change.le(-self.threshold),
            false => rises,
        };
        let step = Recurrence::new("delta", ["x"], ["before", "seen"])
            .output("s", spike, !self.off_spikes)
            .next(vec![now, Expr::constant(1.0)]);
        let spikes = run(cx, step, x);
        cx.tracer().check()?;
        Ok(spikes)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
