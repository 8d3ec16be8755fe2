//! Stochastic gradient descent.
//!
//! g ← g + λ·w; m ← μ·m + g; w ← w − lr·m, or with Nesterov w ← w − lr·(g + μ·m)
//!
//! As in PyTorch, the learning rate multiplies the accumulated momentum.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated, constants_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_expr::Expr;
use spikelet_nn::{Domain, domains};
use std::sync::Arc;

/// Stochastic gradient descent with momentum, Nesterov momentum and weight decay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sgd {
    /// μ, 0 to below 1
    pub momentum: f64,
    /// Whether Nesterov momentum is used.
    pub nesterov: bool,
    /// λ, at least 0, added to the gradient.
    pub weight_decay: f64,
}

impl Optimizer for Sgd {
    fn name(&self) -> &str {
        "sgd"
    }

    fn constants(&self) -> Map<String, Value> {
        constants_of(self)
    }

    domains! { momentum: Domain::at_least(0.0).below(1.0), weight_decay: Domain::at_least(0.0) }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        match self.momentum == 0.0 {
            true => vec![],
            false => vec![StateSpec::new("momentum", weight)],
        }
    }

    fn scalars(&self, _: u64, learning_rate: f64) -> Vec<f64> {
        vec![learning_rate]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        u.elementwise(|u| self.elements(u))
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}

impl Sgd {
    fn elements(&self, u: &ElementUpdate<'_>) -> Vec<Expr> {
        let (w, lr) = (u.weight, &u.scalars[0]);
        let g = u.grad + self.weight_decay * w;
        let [m] = u.states else {
            return vec![w - lr * g];
        };
        let m = self.momentum * m + &g;
        let step = if self.nesterov {
            g + self.momentum * &m
        } else {
            m.clone()
        };
        vec![w - lr * step, m]
    }
}
