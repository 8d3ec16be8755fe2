//! Spike-rate escape.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Exponential decay on both sides of 1 above the threshold.
///
/// g′(x) = slope·e^(−β·|x − 1|)
///
/// Source: Shrestha and Orchard, SLAYER: spike layer error reassignment in time, NeurIPS 2018; the form is that of
/// snnTorch's `spike_rate_escape`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "spike_rate_escape")]
pub struct SpikeRateEscape {
    /// Steepness of the decay.
    #[schema(default = 1.0, above = 0.0)]
    pub beta: f64,
    /// The largest value.
    #[schema(default = 25.0)]
    pub slope: f64,
}

impl Surrogate for SpikeRateEscape {
    fn derivative(&self, x: &Expr) -> Expr {
        self.slope * (-self.beta * (x - 1.0).abs()).exp()
    }
}
