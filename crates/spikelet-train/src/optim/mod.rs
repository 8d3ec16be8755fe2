//! Optimizers. Each has its own file and defines its update as expressions.

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
use spikelet_nn::DefinitionError;
use spikelet_nn::domain::{self, Constant};

/// The operands of an update, for one element of a parameter.
#[derive(Debug)]
pub struct Update<'a> {
    /// The parameter.
    pub weight: &'a Expr,
    /// The gradient of the parameter.
    pub grad: &'a Expr,
    /// The tensors of the optimizer, in the order of [`Optimizer::state_names`].
    pub states: &'a [Expr],
    /// The scalars that change at each step, in the order of [`Optimizer::scalars`].
    pub scalars: &'a [Expr],
}

/// An optimizer: the elementwise update of parameters.
pub trait Optimizer: Send + Sync {
    /// The names of the tensors of the optimizer. Each has the shape of the parameter and is initialized with 0.
    fn state_names(&self) -> Vec<&'static str>;

    /// The scalars of step `step` (1, 2, …) for the learning rate of this step.
    fn scalars(&self, step: u64, learning_rate: f64) -> Vec<f64>;

    /// The new parameter, then the new states.
    fn update(&self, u: &Update<'_>) -> Vec<Expr>;

    /// The domains of the constants.
    fn domains(&self) -> Vec<Constant> {
        vec![]
    }
}

/// An optimizer with its constants, as in settings and checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OptimizerConfig {
    /// Stochastic gradient descent.
    Sgd(Sgd),
    /// Adam, and AdamW with decoupled weight decay.
    Adam(Adam),
}

impl OptimizerConfig {
    /// The names of all optimizers, as on the command line.
    pub const NAMES: [&str; 2] = ["adam", "sgd"];

    /// The name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sgd(_) => "sgd",
            Self::Adam(_) => "adam",
        }
    }

    /// The optimizer of this name with its defaults.
    ///
    /// ```
    /// use spikelet_train::optim::{Adam, OptimizerConfig};
    /// assert_eq!(OptimizerConfig::find("adam")?, OptimizerConfig::Adam(Adam::default()));
    /// assert!(OptimizerConfig::find("newton").is_err());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        match name {
            "adam" => Ok(Self::Adam(Adam::default())),
            "sgd" => Ok(Self::Sgd(Sgd::default())),
            _ => Err(DefinitionError::UnknownName {
                family: "optimizer",
                name: name.to_string(),
                known: Self::NAMES.to_vec(),
            }
            .into()),
        }
    }

    /// The weight decay.
    pub fn weight_decay(&self) -> f64 {
        match self {
            Self::Sgd(sgd) => sgd.weight_decay,
            Self::Adam(adam) => adam.weight_decay,
        }
    }

    /// The optimizer.
    pub fn get(&self) -> &dyn Optimizer {
        match self {
            Self::Sgd(o) => o,
            Self::Adam(o) => o,
        }
    }

    /// Checks that the constants are in their domains.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the first constant outside its domain.
    pub fn check(&self) -> Result<()> {
        domain::check(
            &self.get().domains(),
            &format!("optimizer `{}`", self.name()),
        )
        .map_err(|error| Error::invalid("optimizer", error.to_string(), domain::HELP))
    }
}
