//! Networks as data: those of the literature with their settings, and lists of layers from files.

mod build;
mod change;
mod classes;
mod cost;
mod file;
mod image_size;
pub(crate) mod kind;
pub(crate) mod layer_fields;
mod layers;
pub(crate) mod limits;
mod model;
pub(crate) mod neuron;
mod problem;
pub(crate) mod values;
mod version;

pub use cost::{Cost, CostRow};
pub use image_size::ImageSize;
pub use kind::{LayerKind, layer_kinds};
pub use layers::Layers;
pub use model::Model;
pub use problem::NetworkProblem;

use crate::module::Module;
use serde_json::Value;
use spikelet_core::Result;
use std::sync::Arc;

/// A network, as checkpoints hold it: the name of a model with options, or a list of layers.
///
/// In JSON, an object with `layers` is a list of layers; otherwise `name` is one of [`Model::names`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Network {
    /// A network of the literature, with options.
    Model(Model),
    /// A list of layers.
    Layers(Layers),
}

impl Network {
    /// The networks that any machine can train.
    pub const SMALL: [&str; 5] = ["mnist-fc", "csnn", "cifar10-net", "plif-net", "resnet18"];

    /// The name, as on the command line; of a list of layers, its own.
    pub fn name(&self) -> &str {
        match self {
            Self::Model(model) => model.name(),
            Self::Layers(net) => &net.name,
        }
    }

    /// The model of this name with its defaults.
    ///
    /// # Errors
    /// [`UnknownName`](spikelet_schema::UnknownName).
    pub fn find(name: &str) -> Result<Self> {
        Ok(Self::Model(Model::find(name)?))
    }

    /// The model of this name with other values of some options, see [`Model::options`].
    ///
    /// ```
    /// use spikelet_nn::network::Network;
    /// let network = Network::model("csnn", [("channels", 16.into()), ("classes", 7.into())])?;
    /// assert_eq!(network.classes(), 7);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::find`] and [`Model::with_all`].
    pub fn model<'a>(
        name: &str,
        options: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self> {
        Ok(Self::Model(Model::find(name)?.with_all(options)?))
    }

    /// Channels, height and width of the images that it takes.
    pub fn image(&self) -> [usize; 3] {
        match self {
            Self::Model(model) => model.image(),
            Self::Layers(net) => net.image(),
        }
    }

    /// The sizes of the axes of its input at a time step: a number of features, or channels, height and width.
    pub fn input(&self) -> Vec<usize> {
        match self {
            Self::Model(model) => model.image().to_vec(),
            Self::Layers(net) => net.input.clone(),
        }
    }

    /// Whether it takes sequences with these sizes at a time step: those of its input, or the same with fewer or more axes of
    /// one element in front, as a convolution over one axis takes 140 features as `[1, 140]`.
    ///
    /// ```
    /// use spikelet_nn::network::{Layers, Network};
    /// let text = "[network]\ninput = [1, 140]\nlayers = [{ conv = 4, kernel = 5 }, \"neuron\", \"flatten\", { linear = 3 }]";
    /// let network = Network::Layers(Layers::from_toml("signals.toml", text, &[])?);
    /// assert!(network.takes(&[140]) && network.takes(&[1, 140]) && !network.takes(&[2, 70]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn takes(&self, step: &[usize]) -> bool {
        let rest = |sizes: &[usize]| -> Vec<usize> {
            sizes
                .iter()
                .copied()
                .skip_while(|&size| size == 1)
                .collect()
        };
        let input = self.input();
        // Images are not reshaped.
        step == input || input.len() != 3 && rest(step) == rest(&input)
    }

    /// The number of features of a time step that it takes, if its inputs are sequences of features: those of a list of
    /// layers whose input has one axis. Images are given to it with two axes of one element.
    pub fn features(&self) -> Option<usize> {
        match self {
            Self::Layers(net) => match net.input[..] {
                [features] => Some(features),
                _ => None,
            },
            Self::Model(_) => None,
        }
    }

    /// The number of its classes; of a list of layers, that of its outputs, 0 if it is wrong.
    pub fn classes(&self) -> usize {
        match self {
            Self::Model(model) => model.classes(),
            Self::Layers(net) => net.outputs().unwrap_or_default(),
        }
    }

    /// The same network with another number of classes. A list of layers has those of its last layer and stays the
    /// same.
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        if let Self::Model(model) = &mut self {
            model.set_classes(classes);
        }
        self
    }

    /// The specification of its neurons; of a list of layers, of the layers without their own.
    pub fn neuron_mut(&mut self) -> &mut Value {
        match self {
            Self::Model(model) => model.neuron_mut(),
            Self::Layers(net) => &mut net.neuron,
        }
    }

    /// The list of layers.
    ///
    /// # Errors
    /// When options do not fit together.
    pub fn layers(&self) -> Result<Layers> {
        match self {
            Self::Model(model) => model.layers(),
            Self::Layers(net) => Ok(net.clone()),
        }
    }

    /// The module.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        self.layers()?.module()
    }
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
        for name in Model::names() {
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
        for name in Model::names() {
            let network = Network::find(name).expect("it is known");
            let text = serde_json::to_value(&network).expect("plain data");
            assert_eq!((network.name(), &text["name"]), (name, &Value::from(name)));
            assert_eq!(serde_json::from_value::<Network>(text).ok(), Some(network));
        }
    }

    #[test]
    fn sizes_that_no_machine_holds_are_refused() {
        for spec in [
            serde_json::json!({"name": "csnn", "channels": i64::MAX}),
            serde_json::json!({"name": "csnn", "channels": i64::MAX, "hidden": 5}),
            serde_json::json!({"name": "cifar10-net", "size": i64::MAX}),
            serde_json::json!({"name": "plif-net", "votes": i64::MAX}),
            serde_json::json!({"name": "resnet18", "channels": i64::MAX}),
        ] {
            let network: Network = serde_json::from_value(spec).expect("a network");
            let error = network.module().map(|_| ()).expect_err("refused");
            assert!(error.to_string().contains("network `"), "{error}");
        }
    }
}
