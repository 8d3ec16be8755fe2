//! RMSprop.
//!
//! v ← αv + (1 − α)g²; w ← w − lr·g / (√v + ε)
//!
//! centered: a ← αa + (1 − α)g, and v − a² in place of v under the root.
//! With momentum: m ← μm + g / (√v + ε); w ← w − lr·m
//!
//! Sources: Tieleman & Hinton, Lecture 6.5 of Neural Networks for Machine Learning, 2012; Graves, Generating
//! Sequences With Recurrent Neural Networks, 2013 (centered). The order of operations is PyTorch's.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// RMSprop. The defaults are those of PyTorch, but for `lr`.
///
/// ```
/// use spikelet_train::Settings;
/// use spikelet_train::optim::RmsProp;
/// let optimizer = RmsProp { momentum: 0.9, centered: true, ..RmsProp::default() };
/// let settings = Settings { optimizer: optimizer.into(), ..Settings::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "rmsprop")]
pub struct RmsProp {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// α, the decay of the mean of squared gradients.
    #[schema(default = 0.99, from = 0, below = 1)]
    pub alpha: f64,
    /// ε, which is added to the root.
    #[schema(default = 1e-8, above = 0)]
    pub epsilon: f64,
    /// Whether the gradients are normalized by an estimate of their variance instead of their mean square.
    pub centered: bool,
    /// The decay μ of the momentum.
    #[schema(from = 0, below = 1)]
    pub momentum: f64,
    /// Weight decay λ, added to the gradient.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
}

impl Optimizer for RmsProp {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        let mut names = vec!["square"];
        names.extend(self.centered.then_some("mean"));
        names.extend((self.momentum > 0.0).then_some("momentum"));
        StateSpec::all(&names, weight)
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

impl RmsProp {
    /// RMSprop with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    fn elements(&self, u: &ElementUpdate<'_>) -> Vec<Expr> {
        let (w, lr) = (u.weight, &u.scalars[0]);
        let mut states = u.states.iter();
        let mut state = || states.next().expect("one for each name of `states`");
        let g = u.grad + self.weight_decay * w;
        let square = self.alpha * state() + (1.0 - self.alpha) * (&g * &g);
        let mut new = vec![square.clone()];
        let mut variance = square;
        if self.centered {
            let mean = self.alpha * state() + (1.0 - self.alpha) * &g;
            // Rounding can make the difference negative.
            variance = (variance - &mean * &mean).max(0.0);
            new.push(mean);
        }
        let mut direction = g / (variance.sqrt() + self.epsilon);
        if self.momentum > 0.0 {
            direction = self.momentum * state() + direction;
            new.push(direction.clone());
        }
        new.insert(0, w - lr * direction);
        new
    }
}
