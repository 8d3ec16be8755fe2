//! Stochastic gradient descent.
//!
//! g ← g + λ·w; m ← μ·m + g; w ← w − lr·m, or with Nesterov w ← w − lr·(g + μ·m)
//!
//! As in PyTorch, the learning rate multiplies the accumulated momentum.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Stochastic gradient descent with momentum, Nesterov momentum and weight decay.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Sgd {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// The decay μ of the momentum.
    #[schema(from = 0, below = 1)]
    pub momentum: f64,
    /// Whether Nesterov momentum is used.
    pub nesterov: bool,
    /// Weight decay λ, added to the gradient.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
}

impl Optimizer for Sgd {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        match self.momentum == 0.0 {
            true => vec![],
            false => vec![StateSpec::new("momentum", weight)],
        }
    }

    fn scalars(&self, _: u64, lr: f64) -> Vec<f64> {
        vec![lr]
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
    /// Stochastic gradient descent with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

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
