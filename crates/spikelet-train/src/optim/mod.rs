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
use serde_json::{Map, Value};
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

    /// The constants by name.
    pub fn constants(&self) -> Map<String, Value> {
        let mut spec = self.spec();
        spec.remove("name");
        spec
    }

    /// The same optimizer with other values of some constants.
    ///
    /// # Errors
    /// When a constant is unknown, of another type, or outside its domain.
    ///
    /// ```
    /// use spikelet_train::optim::OptimizerConfig;
    /// let adam = OptimizerConfig::find("adam")?;
    /// let constants = serde_json::json!({"weight_decay": 0.01, "decoupled": true});
    /// let adamw = adam.with(constants.as_object().expect("an object"))?;
    /// assert_eq!(adamw.constants()["weight_decay"], 0.01);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn with(&self, constants: &Map<String, Value>) -> Result<Self> {
        let mut spec = self.spec();
        for (key, value) in constants {
            if key == "name" || !spec.contains_key(key) {
                let known: Vec<String> = self.constants().keys().cloned().collect();
                return Err(Error::invalid(
                    "optimizer",
                    format!("`{}` has no constant `{key}`", self.name()),
                    format!("its constants: {}", known.join(", ")),
                ));
            }
            spec.insert(key.clone(), value.clone());
        }
        let changed: Self = serde_json::from_value(Value::Object(spec)).map_err(|error| {
            let problem = format!("constants of `{}`: {error}", self.name());
            Error::invalid("optimizer", problem, domain::HELP)
        })?;
        changed.check()?;
        Ok(changed)
    }

    /// Name and constants, as files hold them.
    fn spec(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(spec)) => spec,
            _ => Map::new(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(name: &str, constants: Value) -> Result<OptimizerConfig> {
        let constants = constants.as_object().expect("an object").clone();
        OptimizerConfig::find(name)?.with(&constants)
    }

    #[test]
    fn every_optimizer_is_found_by_its_name_and_keeps_its_constants() {
        for name in OptimizerConfig::NAMES {
            let optimizer = OptimizerConfig::find(name).expect("it is known");
            assert_eq!(optimizer.name(), name);
            let same = optimizer.with(&optimizer.constants());
            assert_eq!(same.ok(), Some(optimizer));
        }
    }

    #[test]
    fn constants_are_set_by_name() {
        let sgd = with("sgd", json!({"momentum": 0.5, "nesterov": true}));
        let expected = Sgd {
            momentum: 0.5,
            nesterov: true,
            weight_decay: 0.0,
        };
        assert_eq!(sgd.ok(), Some(OptimizerConfig::Sgd(expected)));
    }

    #[test]
    fn names_types_and_domains_are_checked() {
        for (name, constants, given) in [
            ("adagrad", json!({}), "adagrad"),
            ("adam", json!({"momentum": 0.9}), "momentum"),
            ("adam", json!({"name": "sgd"}), "name"),
            ("adam", json!({"beta1": "much"}), "adam"),
            ("sgd", json!({"momentum": 1.0}), "momentum"),
        ] {
            let refused = with(name, constants).expect_err(given);
            let problem = refused.to_string();
            assert!(problem.contains(given), "{problem}");
        }
    }
}
