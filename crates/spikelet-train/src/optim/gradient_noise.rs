//! Noise on gradients, which falls over the training.
//!
//! g ← g + N(0, η / (1 + t)^0.55), t = 0, 1, …
//!
//! Source: A. Neelakantan et al., *Adding gradient noise improves learning for very deep networks*, 2015.

use super::{Optimizer, StateSpec, Update, Updated};
use spikelet_graph::{RandomAxes, Var};
use spikelet_nn::module::GENERATOR;
use spikelet_schema::{Declaration, FieldValue, Record};
use std::sync::Arc;

/// The exponent of the fall of the variance.
const FALL: f64 = 0.55;

/// An optimizer whose gradients have noise, the same on all ranks. The step has a random number generator.
#[derive(Debug)]
pub(crate) struct GradientNoise {
    optimizer: Arc<dyn Optimizer>,
    eta: f64,
}

impl GradientNoise {
    /// The optimizer with noise of the variance `eta` in the first step.
    pub(crate) fn new(optimizer: Arc<dyn Optimizer>, eta: f64) -> Self {
        Self { optimizer, eta }
    }
}

impl Record for GradientNoise {
    fn declaration(&self) -> &'static Declaration {
        self.optimizer.declaration()
    }

    fn field(&self, index: usize) -> &dyn FieldValue {
        self.optimizer.field(index)
    }
}

impl Optimizer for GradientNoise {
    fn lr(&self) -> f64 {
        self.optimizer.lr()
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self::new(self.optimizer.with_lr(lr), self.eta))
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        self.optimizer.states(weight)
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        let mut scalars = self.optimizer.scalars(step, lr);
        scalars.push((self.eta / (step as f64).powf(FALL)).sqrt());
        scalars
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let (Some((deviation, scalars)), Some(generator)) = (
            u.scalars.split_last(),
            u.grad.tracer().find_input(GENERATOR),
        ) else {
            return self.optimizer.update(u);
        };
        let noise = generator.normal(u.grad.shape(), RandomAxes::Nothing);
        let grad = Var::map(&[u.grad, &noise, deviation], |x| &x[0] + &x[1] * &x[2]);
        self.optimizer.update(&Update {
            grad: &grad,
            scalars,
            ..*u
        })
    }
}
