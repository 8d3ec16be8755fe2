//! Products over the time axis, for neurons that are not recurrences.

use crate::module::{Context, Init};
use spikelet_graph::Var;

/// The longest window. A window may be longer than the sequence: the steps before it are zero.
pub(super) const LONGEST_WINDOW: usize = 1 << 16;

/// Defines the methods that are the same for all parallel neurons: they have no states, and the charge is
/// the value of [`charge_seq`](crate::neuron::Neuron::charge_seq).
macro_rules! parallel_step {
    () => {
        fn states(&self) -> Vec<State> {
            vec![]
        }

        fn charge(&self, _: &Scope, x: Expr) -> Expr {
            x
        }

        fn fire(&self, n: &Scope, h: &Expr) -> Expr {
            n.spike(h)
        }
    };
}
pub(super) use parallel_step;

/// The weight `[T, T]` and the bias `[T, 1]` of a product over `time` steps.
pub fn parameters(cx: &Context, time: usize) -> (Var, Var) {
    let weight = cx.parameter("weight", [time, time], Init::fan_in(time));
    let bias = cx.parameter("bias", [time, 1], Init::Constant(-1.0));
    (weight, bias)
}

/// H = W·X + b: every step of H `[T, N, …]` from all steps of X; `weight` is `[T, T]`, `bias`
/// `[T, 1]` or one number.
pub(super) fn product(weight: &Var, bias: &Var, x: &Var) -> Var {
    // H has full precision even if X is stored in 16 bits.
    let steps = x.flatten(1).cast(weight.ty().dtype);
    (weight.matmul(&steps) + bias).reshape(x.shape())
}

/// The `[T, T]` matrix whose diagonals are `taps`: `taps[k − 1]` the main one, `taps[0]` the lowest
/// of the k, zero elsewhere. There is at least one tap and one time step.
pub(super) fn band(taps: &Var, time_steps: usize) -> Var {
    // Taps further back than the sequence are unused.
    let k = taps.dim(0).min(time_steps);
    let near = match taps.dim(0) - k {
        0 => taps.clone(),
        far => taps.slice(0, far..taps.dim(0)),
    };
    let taps = &near;
    let zero = |count: usize| taps.tracer().fill(taps.ty().dtype, [count], 0.0);
    // One period of a row that moves to the right by one from row to row: repeated, and cut into
    // rows that are shorter by one.
    let period = time_steps + time_steps.max(k);
    let (last, gap) = (taps.slice(0, k - 1..k), zero(period - k));
    let row = match k {
        1 => Var::concat(&[&last, &gap], 0),
        _ => Var::concat(&[&last, &gap, &taps.slice(0, 0..k - 1)], 0),
    };
    row.reshape([1, period])
        .expand([time_steps, period])
        .reshape([time_steps * period])
        .slice(0, 0..time_steps * (period - 1))
        .reshape([time_steps, period - 1])
        .slice(1, 0..time_steps)
}
