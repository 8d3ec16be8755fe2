//! Updates that end within limits.

use super::{Optimizer, StateSpec, Update, Updated};
use spikelet_schema::{Declaration, FieldValue, Record};
use std::sync::Arc;

/// An optimizer that clamps the new parameter to limits: projected gradient descent. Training uses it for the
/// constants of neurons with [`Bound::Project`](spikelet_nn::neuron::Bound::Project) and
/// [`Bound::Interpolate`](spikelet_nn::neuron::Bound::Interpolate). The clamp is part of the training step.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::optim::{Limited, Sgd};
/// use spikelet_train::{Settings, optim::{scalar_inputs, update}, scaling::UpdateGuard};
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

impl Record for Limited<'_> {
    fn declaration(&self) -> &'static Declaration {
        self.optimizer.declaration()
    }

    fn field(&self, index: usize) -> &dyn FieldValue {
        self.optimizer.field(index)
    }
}

impl Optimizer for Limited<'_> {
    fn lr(&self) -> f64 {
        self.optimizer.lr()
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        self.optimizer.with_lr(lr)
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        self.optimizer.states(weight)
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        self.optimizer.scalars(step, lr)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{Sgd, update};
    use crate::scaling::UpdateGuard;
    use spikelet_graph::op::HostTensor;
    use spikelet_graph::{DType, Tensor, Tracer};
    use spikelet_nn::runtime::{Program, VarStore};

    #[test]
    fn an_update_ends_within_the_limits_and_skips_as_the_others() -> spikelet_core::Result<()> {
        let tracer = Tracer::new(DType::F32);
        let weight = tracer.parameter("a", [4]);
        let grad = tracer.input("grad", DType::F32, [4]);
        let rate = tracer.input("rate", DType::F32, []);
        let guard = UpdateGuard::FiniteLoss(tracer.input("loss", DType::F32, []));
        let sgd = Sgd::default();
        let limited = Limited::new(&sgd, Some([0.0, 1.0]));
        update(&limited, "a", &weight, &grad, &[rate], &guard);
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        store.insert("a", &Tensor::f32([4], [0.5, 0.5, 0.5, 0.9]))?;
        let mut program = Program::new(tracer.finish()?, &mut store)?;
        let mut step = |loss: f32| {
            let grads = HostTensor::F32(&[10.0, -10.0, 0.5, 0.0]);
            let rate = HostTensor::F32(&[0.1]);
            let loss = HostTensor::F32(&[loss]);
            program.run_with([("grad", grads), ("rate", rate), ("loss", loss)])?;
            store.get("a").map(|a| a.to_f64())
        };
        let kept: Vec<f64> = step(f32::NAN)?;
        assert_eq!(kept, [0.5, 0.5, 0.5, f64::from(0.9_f32)]);
        let new = step(1.0)?;
        assert_eq!(new[..2], [0.0, 1.0]);
        assert!(
            (new[2] - 0.45).abs() < 1e-6 && (new[3] - 0.9).abs() < 1e-6,
            "{new:?}"
        );
        Ok(())
    }
}
