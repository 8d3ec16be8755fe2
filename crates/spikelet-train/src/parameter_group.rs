//! Groups of parameters with settings of their own.

use crate::optim::OptimizerConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_core::Result;

/// Parameters with another optimizer, other constants or another learning rate, or that are not trained. What is not
/// given is that of [`Settings::optimizer`](crate::Settings::optimizer).
///
/// ```
/// use spikelet_train::{ParameterGroup, Settings};
/// let biases = ParameterGroup {
///     learning_rate: Some(1e-4),
///     ..ParameterGroup::new("*.bias")
/// };
/// let settings = Settings { groups: vec![biases], ..Settings::default() };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParameterGroup {
    /// The pattern of the names of the parameters, such as `*.bias`. The first group that matches applies.
    pub parameters: String,
    /// The name of the optimizer, as in [`OptimizerConfig::find`].
    pub optimizer: Option<String>,
    /// Constants of the optimizer.
    pub constants: Map<String, Value>,
    /// The learning rate before the schedule.
    pub learning_rate: Option<f64>,
    /// Whether the parameters keep their initial values.
    pub frozen: bool,
}

impl ParameterGroup {
    /// The group of the parameters whose names match `parameters`, with nothing of its own.
    pub fn new(parameters: impl Into<String>) -> Self {
        Self {
            parameters: parameters.into(),
            ..Self::default()
        }
    }

    /// Its optimizer, where `main` is that of the other parameters. Another one than `main` starts from its defaults.
    ///
    /// # Errors
    /// When the optimizer or a constant is unknown, or a constant is outside its domain.
    pub fn config(&self, main: OptimizerConfig) -> Result<OptimizerConfig> {
        let start = match &self.optimizer {
            Some(name) if name != main.alias() => OptimizerConfig::find(name)?,
            _ => main,
        };
        start.with(&self.constants)
    }
}
