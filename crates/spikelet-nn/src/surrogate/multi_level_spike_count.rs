//! Multi-level spike count.

use super::Surrogate;
use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Counts are f32, which represents all integers up to this one.
const MOST: u32 = 1 << 24;

/// Integer spike counts; the gradient passes inside a window.
///
/// Forward round(clamp(x, 0, D)), ties to even: up to D spikes in one step; g(x) = clamp(x, grad_min, grad_max), g′(x)
/// = 1 if grad_min ≤ x ≤ grad_max, else 0
///
/// x is the potential divided by v_threshold, not its distance from the threshold.
///
/// Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network for high-performance
/// and energy-efficient object detection, ECCV 2024.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "multi_level_spike_count", check = Self::check)]
pub struct MultiLevelSpikeCount {
    /// D, most spikes in a step.
    #[schema(default = 4, from = 1, to = MOST)]
    pub max_spike_count: u32,
    /// Lower end of the window.
    #[schema(default = 0.0)]
    pub grad_min: f64,
    /// Upper end of the window; by default D.
    pub grad_max: Option<f64>,
}

impl Surrogate for MultiLevelSpikeCount {
    fn derivative(&self, x: &Expr) -> Expr {
        let below_end = Expr::select(x.le(self.grad_end()), 1.0, 0.0);
        Expr::select(x.ge(self.grad_min), below_end, 0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(x.clamp(self.grad_min, self.grad_end()))
    }

    fn forward(&self, x: &Expr, _noise: &Expr) -> Expr {
        x.clamp(0.0, f64::from(self.max_spike_count)).round()
    }

    fn is_binary(&self) -> bool {
        false
    }
}

impl MultiLevelSpikeCount {
    /// The window has a width.
    fn check(&self) -> Result<(), DefinitionError> {
        let window = Domain::FINITE.below(self.grad_end());
        Constant::new("grad_min", self.grad_min, window)
            .check("surrogate `multi_level_spike_count`")
    }

    fn grad_end(&self) -> f64 {
        self.grad_max.unwrap_or(f64::from(self.max_spike_count))
    }
}
