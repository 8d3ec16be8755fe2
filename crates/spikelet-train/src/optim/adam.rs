//! Adam and AdamW.
//!
//! m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; w ← w − lr/(1 − β₁ᵗ)·m / (√v/√(1 − β₂ᵗ) + ε)
//!
//! Sources: Kingma & Ba, Adam, ICLR 2015; Loshchilov & Hutter, Decoupled Weight Decay
//! Regularization, ICLR 2019. The order of operations is PyTorch's.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated, constants_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_expr::Expr;
use spikelet_nn::{Domain, domains};
use std::sync::Arc;

/// The domain of the decay factors. With 1, the mean would always be 0.
const DECAY: Domain = Domain::at_least(0.0).below(1.0);

/// Adam. With `decoupled` weight decay it is AdamW: w ← w·(1 − lr·λ) first, g is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adam {
    /// Decay of the mean of gradients, 0 to below 1.
    pub beta1: f64,
    /// Decay of the mean of their squares, 0 to below 1.
    pub beta2: f64,
    /// ε, above 0.
    pub epsilon: f64,
    /// λ, at least 0.
    pub weight_decay: f64,
    /// Whether the weight decay is applied to the weights (AdamW) instead of the gradients.
    pub decoupled: bool,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
        }
    }
}

impl Adam {
    /// AdamW with this weight decay.
    pub fn w(weight_decay: f64) -> Self {
        Self {
            weight_decay,
            decoupled: true,
            ..Self::default()
        }
    }
}

impl Optimizer for Adam {
    fn name(&self) -> &str {
        "adam"
    }

    fn constants(&self) -> Map<String, Value> {
        constants_of(self)
    }

    domains! {
        beta1: DECAY, beta2: DECAY, epsilon: Domain::above(0.0), weight_decay: Domain::at_least(0.0)
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        StateSpec::all(&["mean", "variance"], weight)
    }

    fn scalars(&self, step: u64, learning_rate: f64) -> Vec<f64> {
        let t = step as f64;
        let corrected = learning_rate / (1.0 - self.beta1.powf(t));
        let root = (1.0 - self.beta2.powf(t)).sqrt();
        vec![learning_rate, corrected, root]
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

impl Adam {
    fn elements(&self, u: &ElementUpdate<'_>) -> Vec<Expr> {
        let (mean, variance) = (&u.states[0], &u.states[1]);
        let (lr, corrected, root) = (&u.scalars[0], &u.scalars[1], &u.scalars[2]);
        let (mut w, mut g) = (u.weight.clone(), u.grad.clone());
        if self.decoupled && self.weight_decay != 0.0 {
            w = &w * (1.0 - lr * self.weight_decay);
        } else {
            g = g + self.weight_decay * &w;
        }
        let mean = self.beta1 * mean + (1.0 - self.beta1) * &g;
        let variance = self.beta2 * variance + (1.0 - self.beta2) * (&g * &g);
        let scale = variance.sqrt() / root + self.epsilon;
        vec![w - corrected * (&mean / scale), mean, variance]
    }
}
