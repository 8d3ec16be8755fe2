//! Networks of the literature, as modules with their settings.

mod mnist_fc;

pub use mnist_fc::MnistFc;

use crate::error::{Error, Result};
use crate::module::Module;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A network by name with its settings, as checkpoints hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Network {
    /// The two-layer network of SpikingFlow's MNIST tutorial.
    MnistFc(MnistFc),
}

impl Network {
    /// The name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MnistFc(_) => "mnist-fc",
        }
    }

    /// The network of this name with its defaults.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(name: &str) -> Result<Self> {
        match name {
            "mnist-fc" => Ok(Self::MnistFc(MnistFc::default())),
            _ => Err(Error::invalid(
                "network",
                format!("`{name}` is not known"),
                "use mnist-fc",
            )),
        }
    }

    /// The module.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        match self {
            Self::MnistFc(net) => Ok(Arc::new(net.module()?)),
        }
    }
}
