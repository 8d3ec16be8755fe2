//! Times of first spikes on a grid, with EventProp's adjoint of a spike.

use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use std::sync::Arc;

/// The time of each neuron's first spike: `[T, N, …] → [1, N, …]`, k·dt for a first spike in step k (from 0), T·dt for a
/// neuron that does not fire. The derivative of the time is passed to that spike as it is, as
/// [`EventPropLif`](super::EventPropLif) expects it; a neuron that does not fire has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstSpikeTime {
    /// Length of a step, > 0.
    pub dt: f64,
}

impl Module for FirstSpikeTime {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("first_spike_time", x, 2)?;
        cx.expect_all_steps("first_spike_time")?;
        let dt = Constant::new("dt", self.dt, Domain::above(0.0));
        cx.expect_domains("first_spike_time", &[dt])?;
        let [s, silent, time] = ["s", "silent", "time"].map(Expr::symbol);
        // As long as a neuron is silent, its time advances by dt in each step without a spike.
        let silent_after = Expr::select(s.gt(0.5), 0.0, &silent).detach();
        let first = &silent - &silent_after;
        let value = &time + self.dt * &silent_after;
        let next = Expr::custom_gradient(value, &time + first.detach() * &s);
        let recurrence = Recurrence::new("first_spike_time", ["s"], ["silent", "time"])
            .next(vec![silent_after, next]);
        let start = |value| x.tracer().fill(x.ty().dtype.arithmetic(), [], value);
        let states = [start(1.0), start(0.0)];
        let steps = x.dim(0);
        let recurrence = Arc::new(recurrence);
        let made = Var::scan(&recurrence, steps, &[x], &[&states[0], &states[1]], &[]);
        let shape = [&[1], &x.shape()[1..]].concat();
        let [_, lasts, _] = recurrence.split_results(&made);
        Ok(lasts[1].reshape(shape))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
