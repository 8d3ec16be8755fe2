//! Groups of parameters with settings of their own.

use crate::optim::{OPTIMIZERS, Optimizer};
use serde_json::{Map, Value};
use spikelet_core::{Error, Result};
use spikelet_schema::Schema;
use spikelet_schema::document::Node;
use std::sync::Arc;

/// Parameters with another optimizer, other constants or another learning rate, or that are not trained. What is not
/// given is that of [`Settings::optimizer`](crate::Settings::optimizer).
///
/// ```
/// use spikelet_train::{ParameterGroup, Settings};
/// let biases = ParameterGroup {
///     lr: Some(1e-4),
///     ..ParameterGroup::new("*.bias")
/// };
/// let settings = Settings { groups: vec![biases], ..Settings::default() };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = earlier)]
pub struct ParameterGroup {
    /// The pattern of the names of the parameters, such as `*.bias`. The first group that matches applies.
    #[schema(required)]
    pub parameters: String,
    /// The name of the optimizer.
    #[schema(key = "name")]
    pub optimizer: Option<String>,
    /// The learning rate before the schedule.
    #[schema(at_least = 0)]
    pub lr: Option<f64>,
    /// Whether the parameters keep their initial values.
    pub frozen: bool,
    /// Constants of the optimizer.
    #[schema(rest)]
    pub constants: Map<String, Value>,
}

/// The keys with the names of before, and constants in a table of their own.
fn earlier(table: &Node) -> Option<Node> {
    let mut table = table.clone();
    for (field, key) in [("optimizer", "name"), ("learning_rate", "lr")] {
        if let Some(value) = table.get(field).cloned() {
            table = table.without(field).with(key, value);
        }
    }
    match table.get("constants").cloned() {
        Some(constants) => Some(constants.over(&table.without("constants"))),
        None => Some(table),
    }
}

impl ParameterGroup {
    /// The group of the parameters whose names match `parameters`, with nothing of its own.
    pub fn new(parameters: impl Into<String>) -> Self {
        Self {
            parameters: parameters.into(),
            ..Self::default()
        }
    }

    /// Its optimizer, where `main` is that of the other parameters. Another one than `main` starts from its defaults, with the
    /// learning rate of `main`.
    ///
    /// # Errors
    /// When the optimizer or a constant is unknown, or a constant is outside its domain.
    pub fn config(&self, main: &(dyn Optimizer + 'static)) -> Result<Arc<dyn Optimizer>> {
        let mut table = self.constants.clone();
        let name = self.optimizer.as_deref().map(Value::from);
        table.extend(name.map(|name| ("name".to_string(), name)));
        let read = Node::from_json(&table.into())
            .and_then(|table| OPTIMIZERS.read_over("optimizer", main, &table));
        let read = read.map_err(|error| {
            let group = format!("group `{}` of parameters", self.parameters);
            Error::invalid(group, error.problem.to_string(), error.problem.help())
        })?;
        Ok(match self.lr {
            Some(lr) => read.with_lr(lr),
            None => read,
        })
    }
}
