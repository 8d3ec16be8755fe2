//! The optimizers of the library by name, as in settings, checkpoints and on the command line.

use super::constants::with_constants;
use super::{Adam, Lamb, Lion, Muon, Optimizer, RmsProp, Sgd};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_core::{Error, Result};
use spikelet_nn::DefinitionError;
use spikelet_nn::domain;
use std::sync::Arc;

/// Defines [`OptimizerConfig`]: a variant, which has the name of its type, and the name in files and on the
/// command line.
macro_rules! optimizers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// An optimizer with its constants, as in settings and checkpoints.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        pub enum OptimizerConfig {
            $($(#[$doc])* #[serde(rename = $name)] $variant($variant),)*
        }

        impl OptimizerConfig {
            /// The names of all optimizers, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name, as on the command line.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// A copy of the optimizer, for a step that keeps it.
            pub fn shared(&self) -> Arc<dyn Optimizer> {
                match self {
                    $(Self::$variant(optimizer) => Arc::new(*optimizer),)*
                }
            }

            /// The optimizer.
            pub fn get(&self) -> &dyn Optimizer {
                match self {
                    $(Self::$variant(optimizer) => optimizer,)*
                }
            }

            fn with_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::default())),)*
                    _ => None,
                }
            }
        }

        $(impl From<$variant> for OptimizerConfig {
            fn from(optimizer: $variant) -> Self {
                Self::$variant(optimizer)
            }
        })*
    };
}

optimizers! {
    /// Adam, and AdamW with decoupled weight decay.
    Adam = "adam",
    /// LAMB.
    Lamb = "lamb",
    /// Lion.
    Lion = "lion",
    /// Muon, with AdamW for parameters with fewer than two axes.
    Muon = "muon",
    /// RMSprop.
    RmsProp = "rmsprop",
    /// Stochastic gradient descent.
    Sgd = "sgd",
}

impl OptimizerConfig {
    /// The optimizer of this name with its defaults. `adamw` is Adam with a decoupled weight decay of 0.01, as
    /// in PyTorch.
    ///
    /// ```
    /// use spikelet_train::optim::{Adam, OptimizerConfig};
    /// assert_eq!(OptimizerConfig::find("adam")?, OptimizerConfig::Adam(Adam::default()));
    /// assert_eq!(OptimizerConfig::find("adamw")?, Adam::w(0.01).into());
    /// assert!(OptimizerConfig::find("newton").is_err());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        match name {
            ADAMW => Ok(Self::Adam(Adam::w(ADAMW_WEIGHT_DECAY))),
            name => Self::with_name(name).ok_or_else(|| {
                DefinitionError::UnknownName {
                    family: "optimizer",
                    name: name.to_string(),
                    known: Self::aliases(),
                }
                .into()
            }),
        }
    }

    /// All names that [`OptimizerConfig::find`] finds: [`OptimizerConfig::NAMES`] and `adamw`.
    pub fn aliases() -> Vec<&'static str> {
        [Self::NAMES, &[ADAMW]].concat()
    }

    /// The name by which [`OptimizerConfig::find`] finds it: `adamw` for Adam with decoupled weight decay, else
    /// [`OptimizerConfig::name`].
    pub fn alias(&self) -> &'static str {
        match self {
            Self::Adam(Adam {
                decoupled: true, ..
            }) => ADAMW,
            other => other.name(),
        }
    }

    /// The weight decay; 0 for an optimizer without.
    pub fn weight_decay(&self) -> f64 {
        let found = self.get().constants();
        found
            .get("weight_decay")
            .and_then(Value::as_f64)
            .unwrap_or(0.0)
    }

    /// The constants by name.
    pub fn constants(&self) -> Map<String, Value> {
        self.get().constants()
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
        let changed = with_constants(self, "optimizer", self.name(), constants)?;
        changed.check()?;
        Ok(changed)
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

/// Adam with decoupled weight decay, on the command line.
const ADAMW: &str = "adamw";

/// PyTorch's default of AdamW.
const ADAMW_WEIGHT_DECAY: f64 = 0.01;

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
        for &name in OptimizerConfig::NAMES {
            let optimizer = OptimizerConfig::find(name).expect("it is known");
            assert_eq!((optimizer.name(), optimizer.alias()), (name, name));
            assert_eq!(optimizer.get().name(), name);
            let same = optimizer.with(&optimizer.constants());
            assert_eq!(same.ok(), Some(optimizer));
        }
    }

    #[test]
    fn checkpoints_of_earlier_versions_are_read() {
        for (text, expected) in [
            (
                r#"{"name":"adam","beta1":0.9,"beta2":0.999,"epsilon":1e-8,"weight_decay":0.0,"decoupled":false}"#,
                OptimizerConfig::Adam(Adam::default()),
            ),
            (
                r#"{"name":"sgd","momentum":0.0,"nesterov":false,"weight_decay":0.0}"#,
                OptimizerConfig::Sgd(Sgd::default()),
            ),
        ] {
            let read: OptimizerConfig = serde_json::from_str(text).expect("it is readable");
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn the_weight_decay_is_replaced() {
        for &name in OptimizerConfig::NAMES {
            let optimizer = OptimizerConfig::find(name).expect("it is known");
            let changed = optimizer.get().with_weight_decay(0.25);
            let changed = changed.map(|optimizer| optimizer.constants());
            let mut expected = optimizer.constants();
            if expected.contains_key("weight_decay") {
                expected.insert("weight_decay".to_string(), json!(0.25));
                assert_eq!(changed, Some(expected));
            } else {
                assert_eq!(changed, None);
            }
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
