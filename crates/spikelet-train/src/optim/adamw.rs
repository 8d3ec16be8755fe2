//! AdamW: Adam with decoupled weight decay.
//!
//! w ← w·(1 − lr·λ), then the step of Adam without weight decay.
//!
//! Source: Loshchilov & Hutter, Decoupled Weight Decay Regularization, ICLR 2019. The order of operations is PyTorch's.

use super::{Adam, Optimizer, StateSpec, Update, Updated};
use spikelet_schema::Schema;
use std::sync::Arc;

/// AdamW: Adam whose weight decay is applied to the weights instead of the gradients. The defaults are those of PyTorch, but for `lr`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "adamw")]
pub struct AdamW {
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
    /// Decoupled weight decay λ.
    #[schema(default = 0.01, at_least = 0)]
    pub weight_decay: f64,
}

impl AdamW {
    /// AdamW with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    fn adam(&self) -> Adam {
        Adam {
            lr: self.lr,
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            weight_decay: 0.0,
        }
    }
}

impl Optimizer for AdamW {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        self.adam().states(weight)
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        self.adam().scalars(step, lr)
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        if self.weight_decay == 0.0 {
            return self.adam().update(u);
        }
        u.elementwise(|u| {
            let weight = u.weight * (1.0 - &u.scalars[0] * self.weight_decay);
            self.adam().elements(u, weight, u.grad.clone())
        })
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}
