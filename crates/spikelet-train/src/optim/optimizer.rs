//! The interface of an optimizer.

use super::{Update, Updated};
use serde_json::{Map, Value};
use spikelet_schema::{Record, to_json};
use std::fmt::Debug;
use std::sync::Arc;

/// An optimizer: the update of one parameter from its gradient. Its name and its constants are those of its declaration.
///
/// The update is traced into the training step. It is an elementwise expression ([`Update::elementwise`]), or
/// any operations on the complete tensors, such as norms and matrix products ([`Update::tensors`]).
///
/// ```
/// use spikelet_expr::Expr;
/// use spikelet_schema::Schema;
/// use spikelet_train::optim::{Optimizer, StateSpec, Update, Updated};
/// use std::sync::Arc;
///
/// /// w ← w − lr · sign(m), with m ← β m + (1 − β) g
/// #[derive(Debug, Schema)]
/// # #[schema(crate = spikelet_schema)]
/// struct SignMomentum {
///     /// The learning rate before the schedule.
///     #[schema(default = 1e-4, at_least = 0, kept)]
///     lr: f64,
///     /// The decay β of the momentum.
///     #[schema(default = 0.9, from = 0, below = 1)]
///     beta: f64,
/// }
///
/// impl Optimizer for SignMomentum {
///     fn lr(&self) -> f64 {
///         self.lr
///     }
///
///     fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
///         Arc::new(Self { lr, ..*self })
///     }
///
///     fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
///         vec![StateSpec::new("momentum", weight)]
///     }
///
///     fn update(&self, u: &Update<'_>) -> Updated {
///         u.elementwise(|u| {
///             let (w, lr) = (u.weight, &u.scalars[0]);
///             let m = self.beta * &u.states[0] + (1.0 - self.beta) * u.grad;
///             let sign = Expr::select(m.ge(0.0), 1.0, -1.0);
///             vec![w - lr * sign, m]
///         })
///     }
/// }
/// ```
pub trait Optimizer: Record + Debug + Send + Sync {
    /// The learning rate before the schedule.
    fn lr(&self) -> f64;

    /// The same optimizer with another learning rate.
    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer>;

    /// The tensors that the optimizer stores for a parameter of this shape.
    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        let _ = weight;
        vec![]
    }

    /// The scalars of step `step` (1, 2, …) for `lr`, the learning rate of this step. By default only `lr`.
    /// Their number is the same in all steps.
    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        let _ = step;
        vec![lr]
    }

    /// The new parameter and the new states.
    fn update(&self, u: &Update<'_>) -> Updated;

    /// The same optimizer with another weight decay; `None` if it has no weight decay. Biases and parameters of
    /// normalization are usually excluded by a weight decay of 0.
    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        let _ = weight_decay;
        None
    }
}

impl dyn Optimizer + '_ {
    /// The name, as in files.
    pub fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The constants by name, of which the learning rate is one.
    pub fn constants(&self) -> Map<String, Value> {
        to_json(self)
    }

    /// The weight decay; 0 for an optimizer without.
    pub fn weight_decay(&self) -> f64 {
        let decay = self.constants().remove("weight_decay");
        decay.as_ref().and_then(Value::as_f64).unwrap_or(0.0)
    }
}

/// A shared optimizer is an optimizer.
impl Optimizer for Arc<dyn Optimizer> {
    fn lr(&self) -> f64 {
        (**self).lr()
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        (**self).with_lr(lr)
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        (**self).states(weight)
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        (**self).scalars(step, lr)
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        (**self).update(u)
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        (**self).with_weight_decay(weight_decay)
    }
}

/// A tensor that an optimizer stores for a parameter. It is initialized with 0.
///
/// ```
/// use spikelet_train::optim::StateSpec;
/// let weight = [64, 784];
/// let (full, rows) = (StateSpec::new("mean", &weight), StateSpec::new("scale", &weight[..1]));
/// assert_eq!((full.shape, rows.shape), (vec![64, 784], vec![64]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSpec {
    /// The name, unique within the optimizer.
    pub name: String,
    /// The shape, which may differ from the shape of the parameter.
    pub shape: Vec<usize>,
}

impl StateSpec {
    /// A tensor of this name and shape.
    pub fn new(name: &str, shape: &[usize]) -> Self {
        Self {
            name: name.to_string(),
            shape: shape.to_vec(),
        }
    }

    /// Tensors of these names, all of one shape.
    pub fn all(names: &[&str], shape: &[usize]) -> Vec<Self> {
        names.iter().map(|name| Self::new(name, shape)).collect()
    }
}

/// Whether a parameter of this shape has weight decay where biases, normalization and constants of neurons, which are
/// scalars and vectors, have none.
pub(crate) fn decays(shape: &[usize]) -> bool {
    shape.len() >= 2
}
