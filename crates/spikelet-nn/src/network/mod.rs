//! Networks as data: those of the literature with their settings, and lists of layers from files.

mod build;
mod change;
mod cifar10_net;
mod classes;
mod cost;
mod csnn;
mod file;
mod image_size;
mod kinds;
mod layer_fields;
mod layers;
mod limits;
mod mnist_fc;
mod model;
mod neuron;
mod plif_net;
mod problem;
mod resnet18;

pub use cifar10_net::Cifar10Net;
pub use cost::{Cost, CostRow};
pub use csnn::Csnn;
pub use image_size::ImageSize;
pub use kinds::{LayerKey, LayerKind, layer_kinds};
pub use layers::Layers;
pub use mnist_fc::MnistFc;
pub use model::Model;
pub use plif_net::PlifNet;
pub use problem::NetworkProblem;
pub use resnet18::ResNet18;

use crate::DefinitionError;
use crate::module::Module;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spikelet_core::suggest;
use spikelet_core::{Error, Result};
use std::sync::Arc;

/// A network, as checkpoints hold it: a name with settings, or a list of layers.
///
/// In JSON, an object with `layers` is a list of layers; otherwise `name` is one of [`Network::all_names`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", remote = "Self")]
#[non_exhaustive]
pub enum Network {
    /// The two-layer network of SpikingFlow's MNIST tutorial.
    MnistFc(MnistFc),
    /// The convolutional network of SpikingJelly's Fashion-MNIST tutorial.
    Csnn(Csnn),
    /// The convolutional network of SpikingFlow's CIFAR-10 tutorial.
    Cifar10Net(Cifar10Net),
    /// The PLIF paper's convolutional network for MNIST and Fashion-MNIST.
    PlifNet(PlifNet),
    /// A pre-activation ResNet-18 for CIFAR-10.
    #[serde(rename = "resnet18")]
    ResNet18(ResNet18),
    /// A deep network of the literature, with options.
    #[serde(skip)]
    Model(Model),
    /// A list of layers.
    #[serde(skip)]
    Layers(Layers),
}

impl Network {
    /// The names of the networks of this crate, as on the command line.
    pub const NAMES: [&str; 5] = ["mnist-fc", "csnn", "cifar10-net", "plif-net", "resnet18"];

    /// The name, as on the command line; of a list of layers, its own.
    pub fn name(&self) -> &str {
        match self {
            Self::MnistFc(_) => "mnist-fc",
            Self::Csnn(_) => "csnn",
            Self::Cifar10Net(_) => "cifar10-net",
            Self::PlifNet(_) => "plif-net",
            Self::ResNet18(_) => "resnet18",
            Self::Model(model) => model.name(),
            Self::Layers(net) => &net.name,
        }
    }

    /// The network of this name with its defaults.
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        match suggest::find(name, Self::NAMES).unwrap_or(name) {
            "mnist-fc" => Ok(Self::MnistFc(MnistFc::default())),
            "csnn" => Ok(Self::Csnn(Csnn::default())),
            "cifar10-net" => Ok(Self::Cifar10Net(Cifar10Net::default())),
            "plif-net" => Ok(Self::PlifNet(PlifNet::default())),
            "resnet18" => Ok(Self::ResNet18(ResNet18::default())),
            _ => match Model::find(name) {
                Ok(model) => Ok(Self::Model(model)),
                Err(_) => Err(Self::unknown(name).into()),
            },
        }
    }

    /// The names of the networks of this crate and of all models.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().chain(Model::names())
    }

    fn unknown(name: &str) -> DefinitionError {
        DefinitionError::UnknownName {
            family: "network",
            name: name.to_string(),
            known: Self::all_names().collect(),
        }
    }

    /// The names of the network's presets: the sources of [`Network::preset`]. Empty where the defaults are those of
    /// the source.
    pub fn presets(&self) -> &'static [&'static str] {
        match self {
            Self::MnistFc(_) | Self::Cifar10Net(_) => &["spikingflow"],
            Self::Csnn(_) => &["spikingjelly"],
            Self::PlifNet(_) | Self::ResNet18(_) | Self::Model(_) | Self::Layers(_) => &[],
        }
    }

    /// The network as its source trains it.
    pub fn preset(&self) -> Self {
        match self {
            Self::MnistFc(_) => Self::MnistFc(MnistFc::preset()),
            Self::Csnn(_) => Self::Csnn(Csnn::default()),
            Self::Cifar10Net(_) => Self::Cifar10Net(Cifar10Net::preset()),
            Self::PlifNet(_) | Self::ResNet18(_) | Self::Model(_) | Self::Layers(_) => self.clone(),
        }
    }

    /// Channels, height and width of the images that it takes.
    pub fn image(&self) -> [usize; 3] {
        match self {
            Self::MnistFc(net) => [1, 28, net.inputs.div_ceil(28)],
            Self::Csnn(net) => net.size.image(net.inputs),
            Self::Cifar10Net(net) => net.size.image(net.inputs),
            Self::PlifNet(net) => net.size.image(net.inputs),
            Self::ResNet18(net) => net.size.image(net.inputs),
            Self::Model(model) => model.image(),
            Self::Layers(net) => net.image(),
        }
    }

    /// The sizes of the axes of its input at a time step: a number of features, or channels, height and width.
    pub fn input(&self) -> Vec<usize> {
        match self {
            Self::Layers(net) => net.input.clone(),
            _ => self.image().to_vec(),
        }
    }

    /// The number of features of a time step that it takes, if its inputs are sequences of features: those of a list of
    /// layers whose input has one axis. Images are given to it with two axes of one element.
    pub fn features(&self) -> Option<usize> {
        match self {
            Self::Layers(net) => match net.input[..] {
                [features] => Some(features),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number of its classes; of a list of layers, that of its outputs, 0 if it is wrong.
    pub fn classes(&self) -> usize {
        match self {
            Self::MnistFc(net) => net.classes,
            Self::Csnn(net) => net.classes,
            Self::Cifar10Net(net) => net.classes,
            Self::PlifNet(net) => net.classes,
            Self::ResNet18(net) => net.classes,
            Self::Model(model) => model.number("classes"),
            Self::Layers(net) => net.outputs().unwrap_or_default(),
        }
    }

    /// The same network with another number of classes. A list of layers has those of its last layer and stays the
    /// same.
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        *match &mut self {
            Self::MnistFc(net) => &mut net.classes,
            Self::Csnn(net) => &mut net.classes,
            Self::Cifar10Net(net) => &mut net.classes,
            Self::PlifNet(net) => &mut net.classes,
            Self::ResNet18(net) => &mut net.classes,
            Self::Model(model) => {
                model.set("classes", classes.into());
                return self;
            }
            Self::Layers(_) => return self,
        } = classes;
        self
    }

    /// The specification of its neurons; of a list of layers, of the layers without their own.
    pub fn neuron_mut(&mut self) -> &mut Value {
        match self {
            Self::MnistFc(net) => &mut net.neuron,
            Self::Csnn(net) => &mut net.neuron,
            Self::Cifar10Net(net) => &mut net.neuron,
            Self::PlifNet(net) => &mut net.neuron,
            Self::ResNet18(net) => &mut net.neuron,
            Self::Model(model) => model.neuron_mut(),
            Self::Layers(net) => &mut net.neuron,
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
            Self::PlifNet(net) => Arc::new(net.module()?),
            Self::ResNet18(net) => Arc::new(net.module()?),
            Self::Model(model) => model.module()?,
            Self::Layers(net) => net.module()?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{Context, Mode};
    use spikelet_graph::DType;

    /// The output's shape and the number of trainable values for one image.
    fn traced(name: &str, time_steps: usize) -> (Vec<usize>, usize) {
        let network = Network::find(name).expect("it is known");
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let mut shape = vec![1];
        shape.extend(network.image());
        let image = cx.tracer().input("image", DType::F32, shape);
        let module = network.module().expect("the defaults are sound");
        let output = cx.trace(&*module, image.repeat_over_time(time_steps));
        let shape = output.expect("it is traced").shape().to_vec();
        let sizes = cx.traced().parameters;
        let sizes = sizes.iter().map(|p| p.shape.iter().product::<usize>());
        (shape, sizes.sum())
    }

    #[test]
    fn networks_have_the_sizes_of_their_sources() {
        assert_eq!(traced("resnet18", 4), (vec![4, 1, 10], 11_172_170));
        assert_eq!(traced("plif-net", 8), (vec![8, 1, 10], 13_198_980));
    }

    #[test]
    fn every_network_has_as_many_outputs_as_classes() {
        for name in Network::all_names() {
            let network = Network::find(name).expect("it is known").with_classes(7);
            assert_eq!(network.classes(), 7);
            let cx = Context::new(Mode::EVAL, DType::F32);
            let [channels, height, width] = network.image();
            let image = cx
                .tracer()
                .input("image", DType::F32, [1, channels, height, width]);
            let module = network.module().expect("the defaults are sound");
            let output = cx.trace(&*module, image.repeat_over_time(2));
            assert_eq!(output.expect("it is traced").shape(), [2, 1, 7], "{name}");
        }
    }

    #[test]
    fn a_network_is_read_by_its_name() {
        for name in Network::all_names() {
            let network = Network::find(name).expect("it is known");
            let text = serde_json::to_value(&network).expect("plain data");
            assert_eq!((network.name(), &text["name"]), (name, &Value::from(name)));
            assert_eq!(serde_json::from_value::<Network>(text).ok(), Some(network));
        }
    }

    #[test]
    fn sizes_that_no_machine_holds_are_refused() {
        for spec in [
            serde_json::json!({"name": "csnn", "channels": usize::MAX}),
            serde_json::json!({"name": "csnn", "channels": usize::MAX, "hidden": 5}),
            serde_json::json!({"name": "cifar10-net", "size": usize::MAX}),
            serde_json::json!({"name": "plif-net", "votes": usize::MAX}),
            serde_json::json!({"name": "resnet18", "channels": usize::MAX}),
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
