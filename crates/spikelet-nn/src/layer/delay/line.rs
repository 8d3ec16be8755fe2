//! The delay line: the last steps of a sequence as a state.

use crate::LayerProblem;
use crate::module::Context;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::Conv;

/// The name of the state.
pub(super) const LINE: &str = "delay_line";

/// The largest number of steps of a delay line.
pub(super) const MAX_LAGS: u32 = 1 << 16;

/// Checks that a sequence is `[T, N, features]`.
pub(super) fn expect_features(cx: &Context, kind: &str, x: &Var, features: usize) -> Result<()> {
    cx.expect_rank(kind, x, 3)?;
    let given = || x.ty().clone();
    if x.rank() > 3 {
        let expected = "[T, N, features]";
        let given = given();
        return Err(cx.error(kind, LayerProblem::Axes { expected, given }));
    }
    if x.dim(2) != features {
        let (expected, given) = (features, given());
        return Err(cx.error(kind, LayerProblem::Channels { expected, given }));
    }
    Ok(())
}

/// A sequence `[T, N, features]` behind the `lags` steps before it: `[lags + T, N, features]`. Before the first step of
/// a sequence, these are zeros.
pub(super) fn with_history(cx: &Context, x: &Var, lags: usize) -> Var {
    if lags == 0 {
        return x.clone();
    }
    let (steps, line) = (x.dim(0), [x.dim(1), lags, x.dim(2)]);
    let state = cx.state(LINE, line, 0.0);
    let before = match state.shape() {
        // The value of all elements before the first step.
        [] => state.cast(x.ty().dtype).expand([lags, line[0], line[2]]),
        _ => (state.cast(x.ty().dtype).expand(line)).permute(&[1, 0, 2]),
    };
    let whole = Var::concat(&[&before, x], 0);
    let last = whole.slice(0, steps..steps + lags).permute(&[1, 0, 2]);
    cx.set_state(&state, &last.cast(state.ty().dtype));
    whole
}

/// The sum over lags `y[t] = Σ_k xp[t + k]·kernel[k]` of a sequence with its history, `[lags + T, N, in]`, as a
/// convolution over time with the batch as a second spatial axis, so that nothing is transposed. The kernel is
/// `[out, lags + 1, in / groups]`; its last element acts on the present step.
pub(super) fn convolve(xp: &Var, kernel: &Var, groups: usize) -> Var {
    let [rows, batch, features] = [xp.dim(0), xp.dim(1), xp.dim(2)];
    let [outputs, taps, per_group] = [kernel.dim(0), kernel.dim(1), kernel.dim(2)];
    let op = Conv {
        groups,
        ..Conv::new(2)
    };
    let image = xp.reshape([1, rows, batch, features]);
    let y = image.conv(&kernel.reshape([outputs, taps, 1, per_group]), op);
    y.reshape([(rows + 1).saturating_sub(taps), batch, outputs])
}

/// 0, 1 … count − 1.
pub(super) fn indices(cx: &Context, count: usize) -> Var {
    let ones = cx.tracer().fill(cx.tracer().float(), [count], 1.0);
    ones.cumsum(0) - 1.0
}
