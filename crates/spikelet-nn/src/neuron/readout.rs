//! The readout over time.

use spikelet_graph::Var;
use spikelet_schema::Schema;

/// One value for all time steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum Readout {
    /// The value of the last step.
    #[default]
    #[schema(alias = "last_mem")]
    Last,
    /// The maximum.
    #[schema(alias = "max_mem")]
    Max,
    /// The value with the largest absolute value.
    #[schema(name = "max_abs", alias = "max_abs_mem")]
    MaxAbs,
    /// The mean.
    #[schema(alias = "mean_mem")]
    Mean,
    /// The sum.
    Sum,
    /// The sum of the softmax over the last axis, the classes.
    #[schema(name = "softmax_sum")]
    SoftmaxSum,
}

impl Readout {
    /// `[T, N, …] → [N, …]`
    pub(crate) fn over_time(self, v_seq: &Var) -> Var {
        let time = v_seq.dim(0);
        match self {
            Self::Last => {
                let last = v_seq.slice(0, time.saturating_sub(1)..time);
                last.reshape(&v_seq.shape()[1..])
            }
            Self::Max => v_seq.max(&[0]),
            Self::MaxAbs => {
                let (most, least) = (v_seq.max(&[0]), -(-v_seq).max(&[0]));
                Var::map(&[&most, &least], |x| {
                    let upwards = x[0].abs().gt(x[1].abs());
                    spikelet_expr::Expr::select(upwards, &x[0], &x[1])
                })
            }
            Self::Mean => v_seq.mean(&[0]),
            Self::Sum => v_seq.sum(&[0]),
            Self::SoftmaxSum => v_seq.softmax().sum(&[0]),
        }
    }
}
