//! Optimizers: one file each, an update written as expressions.

mod adam;
mod clip;
mod schedule;
mod sgd;

pub use adam::Adam;
pub use clip::Clip;
pub use clip::squares;
pub use schedule::LrSchedule;
pub use sgd::Sgd;

use serde::{Deserialize, Serialize};
use spikelet_core::{Error, Result};
use spikelet_expr::Expr;
use spikelet_nn::domain::{self, Constant};

/// The operands of an update, for one element of a parameter.
pub struct Update<'a> {
    /// The parameter.
    pub weight: &'a Expr,
    /// Its gradient.
    pub grad: &'a Expr,
    /// The optimizer's own tensors, in the order of [`Optimizer::state_names`].
    pub states: &'a [Expr],
    /// Scalars that change from step to step, in the order of [`Optimizer::scalars`].
    pub scalars: &'a [Expr],
}

/// A rule that updates parameters, element by element.
pub trait Optimizer: Send + Sync {
    /// Names of its own tensors, each as large as the parameter, zero at first.
    fn state_names(&self) -> Vec<&'static str>;

    /// The scalars of step `step` (1, 2, …), given the learning rate of that step.
    fn scalars(&self, step: u64, learning_rate: f64) -> Vec<f64>;

    /// The new parameter, then the new states.
    fn update(&self, u: &Update<'_>) -> Vec<Expr>;

    /// The domains of its constants.
    fn domains(&self) -> Vec<Constant> {
        vec![]
    }
}

/// An optimizer with its constants, as configurations hold it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum OptimizerConfig {
    /// Stochastic gradient descent.
    Sgd(Sgd),
    /// Adam, and AdamW with decoupled weight decay.
    Adam(Adam),
}

impl OptimizerConfig {
    /// The optimizer itself.
    pub fn get(&self) -> &dyn Optimizer {
        match self {
            Self::Sgd(o) => o,
            Self::Adam(o) => o,
        }
    }

    /// Checks that the constants are in their domains.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn check(&self) -> Result<()> {
        let name = match self {
            Self::Sgd(_) => "sgd",
            Self::Adam(_) => "adam",
        };
        domain::check(&self.get().domains(), &format!("optimizer `{name}`"))
            .map_err(|error| Error::invalid("optimizer", error.to_string(), domain::HELP))
    }
}
