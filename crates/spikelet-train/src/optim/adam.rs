//! Adam.
//!
//! m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; w ← w − lr/(1 − β₁ᵗ)·m / (√v/√(1 − β₂ᵗ) + ε)
//!
//! Source: Kingma & Ba, Adam, ICLR 2015. The order of operations is PyTorch's.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Adam. The defaults are those of PyTorch, but for `lr`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Adam {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// Decay of the mean of gradients.
    #[schema(default = 0.9, from = 0, below = 1)]
    pub beta1: f64,
    /// Decay of the mean of their squares.
    #[schema(default = 0.999, from = 0, below = 1)]
    pub beta2: f64,
    /// ε, which is added to the root.
    #[schema(default = 1e-8, above = 0)]
    pub epsilon: f64,
    /// Weight decay λ, added to the gradient.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
}

impl Optimizer for Adam {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        StateSpec::all(&["mean", "variance"], weight)
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        let t = step as f64;
        let corrected = lr / (1.0 - self.beta1.powf(t));
        let root = (1.0 - self.beta2.powf(t)).sqrt();
        vec![lr, corrected, root]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        u.elementwise(|u| {
            let weight = u.weight.clone();
            let grad = u.grad.clone() + self.weight_decay * &weight;
            self.elements(u, weight, grad)
        })
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}

impl Adam {
    /// Adam with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    /// The new weight and states of a weight and a gradient to which the weight decay was applied.
    pub(super) fn elements(&self, u: &ElementUpdate<'_>, weight: Expr, grad: Expr) -> Vec<Expr> {
        let (mean, variance) = (&u.states[0], &u.states[1]);
        let (corrected, root) = (&u.scalars[1], &u.scalars[2]);
        let mean = self.beta1 * mean + (1.0 - self.beta1) * &grad;
        let variance = self.beta2 * variance + (1.0 - self.beta2) * (&grad * &grad);
        let scale = variance.sqrt() / root + self.epsilon;
        vec![weight - corrected * (&mean / scale), mean, variance]
    }
}
