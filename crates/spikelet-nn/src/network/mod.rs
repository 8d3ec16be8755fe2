//! Networks of the literature, as modules with their settings.

mod cifar10_net;
mod csnn;
mod mnist_fc;

pub use cifar10_net::Cifar10Net;
pub use csnn::Csnn;
pub use mnist_fc::MnistFc;

use crate::DefinitionError;
use crate::module::Module;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spikelet_core::{Error, Result};
use std::sync::Arc;

/// A network by name with its settings, as checkpoints hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Network {
    /// The two-layer network of SpikingFlow's MNIST tutorial.
    MnistFc(MnistFc),
    /// The convolutional network of SpikingJelly's Fashion-MNIST tutorial.
    Csnn(Csnn),
    /// The convolutional network of SpikingFlow's CIFAR-10 tutorial.
    Cifar10Net(Cifar10Net),
}

impl Network {
    /// The names of all networks, as on the command line.
    pub const NAMES: [&str; 3] = ["mnist-fc", "csnn", "cifar10-net"];

    /// The name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MnistFc(_) => "mnist-fc",
            Self::Csnn(_) => "csnn",
            Self::Cifar10Net(_) => "cifar10-net",
        }
    }

    /// The network of this name with its defaults.
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        match name {
            "mnist-fc" => Ok(Self::MnistFc(MnistFc::default())),
            "csnn" => Ok(Self::Csnn(Csnn::default())),
            "cifar10-net" => Ok(Self::Cifar10Net(Cifar10Net::default())),
            _ => Err(DefinitionError::UnknownName {
                family: "network",
                name: name.to_string(),
                known: Self::NAMES.to_vec(),
            }
            .into()),
        }
    }

    /// The names of the network's presets: the sources of [`Network::preset`].
    pub fn presets(&self) -> &'static [&'static str] {
        match self {
            Self::MnistFc(_) | Self::Cifar10Net(_) => &["spikingflow"],
            Self::Csnn(_) => &["spikingjelly"],
        }
    }

    /// The network as its source trains it.
    pub fn preset(&self) -> Self {
        match self {
            Self::MnistFc(_) => Self::MnistFc(MnistFc::preset()),
            Self::Csnn(_) => Self::Csnn(Csnn::default()),
            Self::Cifar10Net(_) => Self::Cifar10Net(Cifar10Net::preset()),
        }
    }

    /// Channels, height and width of the images that it takes.
    pub fn image(&self) -> [usize; 3] {
        match self {
            Self::MnistFc(net) => [1, 28, net.inputs.div_ceil(28)],
            Self::Csnn(net) => [net.inputs, net.size, net.size],
            Self::Cifar10Net(net) => [net.inputs, net.size, net.size],
        }
    }

    /// The specification of its neurons.
    pub fn neuron_mut(&mut self) -> &mut Value {
        match self {
            Self::MnistFc(net) => &mut net.neuron,
            Self::Csnn(net) => &mut net.neuron,
            Self::Cifar10Net(net) => &mut net.neuron,
        }
    }

    /// The module.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        Ok(match self {
            Self::MnistFc(net) => Arc::new(net.module()?),
            Self::Csnn(net) => Arc::new(net.module()?),
            Self::Cifar10Net(net) => Arc::new(net.module()?),
        })
    }
}

/// The size of a layer, from those of a file.
fn product(sizes: &[usize]) -> Result<usize> {
    let product = sizes
        .iter()
        .try_fold(1_usize, |all, &size| all.checked_mul(size));
    product.ok_or_else(|| {
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        Error::invalid(
            "network",
            format!(
                "a layer of {} values is more than any machine holds",
                sizes.join(" × ")
            ),
            "use fewer channels or smaller images",
        )
    })
}

/// The side of an image of `size` after pooling by 2 `halvings` times.
fn sized(size: usize, halvings: u32) -> Result<usize> {
    match size >> halvings {
        0 => Err(Error::invalid(
            "image size",
            format!("{size} cannot be halved {halvings} times"),
            format!("use images of at least {}", 1_usize << halvings),
        )),
        left => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_machine_holds_are_refused() {
        for spec in [
            serde_json::json!({"name": "csnn", "channels": usize::MAX}),
            serde_json::json!({"name": "csnn", "channels": usize::MAX, "hidden": 5}),
            serde_json::json!({"name": "cifar10-net", "size": usize::MAX}),
        ] {
            let network: Network = serde_json::from_value(spec).expect("a network");
            let error = network.module().map(|_| ()).expect_err("refused");
            assert!(
                matches!(&error, Error::Invalid { what, .. } if what == "network"),
                "{error}"
            );
        }
    }
}
