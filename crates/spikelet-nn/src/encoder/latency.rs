//! Latency encoder.

use super::{Encoder, over_time};
use crate::module::Context;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use spikelet_schema::Schema;

/// Time steps are f32, which represents all integers up to this one.
const LONGEST: u32 = 1 << 24;

/// One spike, the earlier the larger the value, which should be from 0 to 1.
///
/// One spike at t_f = round((T − 1)·(1 − x)), or at t_f = round((T − 1) − ln(αx + 1)) with
/// α = e^(T−1) − 1: the larger x, the earlier. Ties are rounded to even.
///
/// Since αx + 1 = e^(T−1)·(x + (1 − x)·e^(1−T)), the second is computed as
/// −ln(x + (1 − x)·e^(1−T)), which does not overflow for any T.
///
/// Source: SpikingFlow's `LatencyEncoder`.
///
/// A sequence that continues from call to call needs `time_steps`. Where sequences are stored in
/// bf16, times beyond 256 are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Latency {
    /// T, the period; by default the length of the sequence.
    #[schema(from = 1, to = LONGEST)]
    pub time_steps: Option<usize>,
    /// The function from a value to the time of its spike.
    pub code: LatencyCode,
}

/// The function from a value to the time of its spike in [`Latency`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum LatencyCode {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
}

impl Encoder for Latency {
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        let whole = || cx.time_steps(time_steps);
        let length = self.time_steps.unwrap_or_else(whole).max(1) as f64;
        let last = length - 1.0;
        let time = x.map1(|x| match self.code {
            LatencyCode::Linear => (last * (1.0 - x)).round(),
            // For x = 0, the argument of the logarithm may be too small for f32.
            LatencyCode::Log => (-(x + (1.0 - x) * (-last).exp()).ln()).round().min(last),
        });
        let [time_of_spike, now] = ["x", "now"].map(Expr::symbol);
        let next = &now + 1.0;
        let step = Recurrence::new("latency", ["x"], ["now"])
            .output("s", time_of_spike.equals(now), true)
            .next(vec![Expr::select(next.lt(length), &next, 0.0)]);
        over_time(cx, step, &time, time_steps)
    }
}
