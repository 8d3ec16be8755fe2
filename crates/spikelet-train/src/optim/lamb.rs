//! LAMB (Layer-wise Adaptive Moments for Batch training).
//!
//! m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²
//! u = m/(1 − β₁ᵗ) / (√v/√(1 − β₂ᵗ) + ε) + λw
//! w ← w − lr·‖w‖/‖u‖·u
//!
//! Source: You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020. The
//! order of operations is that of timm's `Lamb`.

use super::{Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// LAMB: Adam whose step is scaled for each parameter tensor by ‖w‖/‖u‖, the trust ratio. It is 1 if one of the norms
/// is 0.
///
/// As in timm, a parameter without weight decay has a trust ratio of 1, unless `always_adapt` is set. timm's LAMB
/// also clips the norm of all gradients to 1: set [`Clip::Norm(1.0)`](super::Clip::Norm).
///
/// ```
/// use spikelet_train::optim::{Lamb, Optimizer};
/// let optimizer = Lamb { weight_decay: 0.02, ..Lamb::default() };
/// let bias = optimizer.with_weight_decay(0.0); // for biases and normalization
/// assert!(bias.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Lamb {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// β₁, the decay of the mean of gradients.
    #[schema(default = 0.9, from = 0, below = 1)]
    pub beta1: f64,
    /// β₂, the decay of the mean of their squares.
    #[schema(default = 0.999, from = 0, below = 1)]
    pub beta2: f64,
    /// ε, which is added to the root.
    #[schema(default = 1e-6, above = 0)]
    pub epsilon: f64,
    /// Weight decay λ.
    #[schema(default = 0.01, at_least = 0)]
    pub weight_decay: f64,
    /// Whether parameters without weight decay have a trust ratio as well.
    pub always_adapt: bool,
    /// Whether the trust ratio is at most 1 (LAMBC).
    pub trust_clip: bool,
}

impl Optimizer for Lamb {
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
        let mean = 1.0 - self.beta1.powf(t);
        let root = (1.0 - self.beta2.powf(t)).sqrt();
        vec![lr, mean, root]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let (mean, variance, lr) = (&u.states[0], &u.states[1], &u.scalars[0]);
        let operands = [
            u.weight,
            u.grad,
            mean,
            variance,
            &u.scalars[1],
            &u.scalars[2],
        ];
        let mut new = Var::map_many(&operands, |x| {
            let (w, g) = (&x[0], &x[1]);
            let mean = self.beta1 * &x[2] + (1.0 - self.beta1) * g;
            let variance = self.beta2 * &x[3] + (1.0 - self.beta2) * (g * g);
            let scale = variance.sqrt() / &x[5] + self.epsilon;
            let direction = &mean / &x[4] / scale + self.weight_decay * w;
            vec![direction, mean, variance]
        });
        let direction = &new[0];
        let weight = if self.weight_decay == 0.0 && !self.always_adapt {
            Var::map(&[u.weight, direction, lr], |x| &x[0] - &x[2] * &x[1])
        } else {
            let squares = [u.weight, direction].map(|x| x.square().sum_all());
            let operands = [u.weight, direction, lr, &squares[0], &squares[1]];
            Var::map(&operands, |x| {
                let ratio = self.trust_ratio(x[3].sqrt(), &x[4].sqrt());
                &x[0] - &x[2] * (ratio * &x[1])
            })
        };
        new[0] = weight;
        u.tensors(new)
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}

impl Lamb {
    /// LAMB with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    /// The factor of a step, from the norms of the parameter and of the step.
    fn trust_ratio(&self, weight: Expr, direction: &Expr) -> Expr {
        let ratio = Expr::select(direction.gt(0.0), &weight / direction, 1.0);
        let ratio = Expr::select(weight.gt(0.0), ratio, 1.0);
        match self.trust_clip {
            true => ratio.min(1.0),
            false => ratio,
        }
    }
}
