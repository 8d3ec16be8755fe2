//! Updates that end within limits.

use super::{Optimizer, StateSpec, Update, Updated};
use serde_json::{Map, Value};
use spikelet_nn::domain::Constant;
use std::sync::Arc;

/// An optimizer that clamps the new parameter to limits: projected gradient descent. Training uses it for the
/// constants of neurons with [`Bound::Project`](spikelet_nn::neuron::Bound::Project) and
/// [`Bound::Interpolate`](spikelet_nn::neuron::Bound::Interpolate). The clamp is part of the training step.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::optim::{Limited, Sgd};
/// use spikelet_train::{Settings, UpdateGuard, scalar_inputs, update};
/// let sgd = Sgd::default();
/// let limited = Limited::new(&sgd, Some([0.0, 1.0]));
/// let tracer = Tracer::new(DType::F32);
/// let (weight, grad) = (tracer.parameter("a", [3]), tracer.input("grad", DType::F32, [3]));
/// let loss = tracer.input("loss", DType::F32, []);
/// let rate = tracer.input("rate", DType::F32, []);
/// update(&limited, "a", &weight, &grad, &[rate], &UpdateGuard::FiniteLoss(loss));
/// assert!(tracer.check().is_ok() && tracer.updated(&weight).is_some());
/// ```
#[derive(Debug)]
pub struct Limited<'a> {
    optimizer: &'a dyn Optimizer,
    limits: Option<[f64; 2]>,
}

impl<'a> Limited<'a> {
    /// The optimizer with the limits of a parameter, if it has any.
    pub fn new(optimizer: &'a dyn Optimizer, limits: Option<[f64; 2]>) -> Self {
        Self { optimizer, limits }
    }
}

impl Optimizer for Limited<'_> {
    fn name(&self) -> &str {
        self.optimizer.name()
    }

    fn constants(&self) -> Map<String, Value> {
        self.optimizer.constants()
    }

    fn domains(&self) -> Vec<Constant> {
        self.optimizer.domains()
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        self.optimizer.states(weight)
    }

    fn scalars(&self, step: u64, learning_rate: f64) -> Vec<f64> {
        self.optimizer.scalars(step, learning_rate)
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let updated = self.optimizer.update(u);
        match self.limits {
            Some([low, high]) => updated.clamp(low, high),
            None => updated,
        }
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        self.optimizer.with_weight_decay(weight_decay)
    }
}
