//! Multi-level spike count.
//!
//! Forward round(clamp(x, 0, D)), ties to even: up to D spikes in one step;
//! g(x) = clamp(x, grad_min, grad_max), g′(x) = 1 if grad_min ≤ x ≤ grad_max, else 0
//!
//! x is the potential divided by v_threshold, not its distance from the threshold.
//!
//! Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network
//! for high-performance and energy-efficient object detection, ECCV 2024.

use super::Surrogate;
use crate::domain::{Constant, Domain, constant};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Counts are f32, which represents all integers up to this one.
const MOST: Domain = Domain::whole(1, 1 << 24);

/// Integer spike counts; the gradient passes inside a window.
///
/// | field | default | |
/// |---|---|---|
/// | `max_spike_count` | 4 | D, most spikes in a step |
/// | `grad_min` | 0 | lower end of the window |
/// | `grad_max` | none | upper end of the window; none is D |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiLevelSpikeCount {
    /// D, the maximal number of spikes per step.
    pub max_spike_count: u32,
    /// Lower end of the window that the gradient passes.
    pub grad_min: f64,
    /// Upper end of the window; `None` is D.
    pub grad_max: Option<f64>,
}

impl Default for MultiLevelSpikeCount {
    fn default() -> Self {
        Self {
            max_spike_count: 4,
            grad_min: 0.0,
            grad_max: None,
        }
    }
}

impl Surrogate for MultiLevelSpikeCount {
    spec!("multi_level_spike_count");

    fn domains(&self) -> Vec<Constant> {
        let most = constant("max_spike_count", self.max_spike_count, MOST);
        let grad_max =
            (self.grad_max).map(|end| Constant::new("grad_max", end, Domain::above(self.grad_min)));
        let grad_min = match self.grad_max {
            Some(_) => Domain::FINITE,
            None => Domain::FINITE.below(self.grad_end()),
        };
        let grad_min = Constant::new("grad_min", self.grad_min, grad_min);
        [most, grad_min].into_iter().chain(grad_max).collect()
    }

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
    fn grad_end(&self) -> f64 {
        self.grad_max.unwrap_or(f64::from(self.max_spike_count))
    }
}
