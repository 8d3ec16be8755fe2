//! Lion (EvoLved Sign Momentum).
//!
//! u ← sign(β₁m + (1 − β₁)g) + λw; m ← β₂m + (1 − β₂)g; w ← w − lr·u
//!
//! Source: Chen et al., Symbolic Discovery of Optimization Algorithms, NeurIPS 2023, program 1.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Lion. Each step changes a weight by the learning rate, plus weight decay: the authors suggest a learning rate 3 to
/// 10 times smaller than that of AdamW, and a weight decay 3 to 10 times larger.
///
/// ```
/// use spikelet_train::optim::{Lion, Optimizer};
/// let optimizer = Lion { weight_decay: 0.1, ..Lion::default() };
/// assert_eq!(optimizer.states(&[10, 784]).len(), 1); // half the memory of Adam
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Lion {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// β₁, the weight of the momentum in the direction of a step.
    #[schema(default = 0.9, from = 0, below = 1)]
    pub beta1: f64,
    /// β₂, the decay of the momentum.
    #[schema(default = 0.99, from = 0, below = 1)]
    pub beta2: f64,
    /// Decoupled weight decay λ.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
}

impl Optimizer for Lion {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        vec![StateSpec::new("momentum", weight)]
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

impl Lion {
    /// Lion with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    fn elements(&self, u: &ElementUpdate<'_>) -> Vec<Expr> {
        let (w, g, m, lr) = (u.weight, u.grad, &u.states[0], &u.scalars[0]);
        let direction = sign(&(self.beta1 * m + (1.0 - self.beta1) * g)) + self.weight_decay * w;
        let momentum = self.beta2 * m + (1.0 - self.beta2) * g;
        vec![w - lr * direction, momentum]
    }
}

/// −1, 0 or 1.
fn sign(x: &Expr) -> Expr {
    let not_above = Expr::select(x.lt(0.0), -1.0, 0.0);
    Expr::select(x.gt(0.0), 1.0, not_above)
}
