//! Networks of the literature by name, with options. Each is a function from its options to a list of layers.
//!
//! A family of models is a file; a new one needs a line in [`FAMILIES`].

mod cifar10_dvs_vgg;
mod cifar10_net;
mod csnn;
mod layer;
mod mnist_fc;
mod ms_resnet;
mod neurons;
mod plif;
mod plif_net;
mod qkformer;
mod resnet18;
mod resnet19;
mod sew_dvs;
mod sew_resnet;
mod spike_driven;
mod spikformer;
mod spiking_vgg;
mod stochastic_depth;
mod transformer;

use super::file::expected;
use super::limits::MAX_LAYERS;
use super::{ImageSize, Layers};
use crate::DefinitionError;
use crate::module::Module;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use spikelet_core::suggest;
use spikelet_core::{Error, Result};
use std::sync::Arc;

/// The models of each file.
const FAMILIES: [&[ModelKind]; 15] = [
    &mnist_fc::MODELS,
    &csnn::MODELS,
    &cifar10_net::MODELS,
    &plif_net::MODELS,
    &resnet18::MODELS,
    &sew_resnet::MODELS,
    &sew_dvs::MODELS,
    &plif::MODELS,
    &spiking_vgg::MODELS,
    &cifar10_dvs_vgg::MODELS,
    &ms_resnet::MODELS,
    &resnet19::MODELS,
    &spikformer::MODELS,
    &qkformer::MODELS,
    &spike_driven::MODELS,
];

/// The options of a family of models.
trait Family: Serialize + DeserializeOwned {
    /// What each option means.
    const OPTIONS: &'static [(&'static str, &'static str)];

    /// The settings of training, as the tables of a file.
    const SETTINGS: &'static str = "encoder.name = \"direct\"\nloss.name = \"cross-entropy\"";

    /// The time steps with which the authors train it.
    fn time_steps(&self) -> usize {
        4
    }

    /// Channels, height and width of the images that it takes.
    fn image(options: &Map<String, Value>) -> [usize; 3] {
        let size = options.get("size").and_then(ImageSize::of);
        size.map_or([0; 3], |size| size.image(number(options, "inputs")))
    }

    /// The layers.
    ///
    /// # Errors
    /// When options do not fit together. Sizes of layers are checked when the list is read.
    fn layers(&self) -> Result<Vec<Value>>;
}

/// The options that all models have.
const COMMON: [(&str, &str); 4] = [
    ("inputs", "channels of an image or frame"),
    ("size", "its height and width, as 64 or [48, 64]"),
    ("classes", "number of classes"),
    ("neuron", "neuron of the layers without their own"),
];

// Options of several families.
const CHANNELS: (&str, &str) = ("channels", "channels of the convolutions");
const HIDDEN: (&str, &str) = (
    "hidden",
    "neurons of the hidden layer; 0: 16 times the channels",
);
const DROPOUT: (&str, &str) = ("dropout", "probability of dropout before linear layers");

/// A model by its name.
struct ModelKind {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    /// The options with their defaults.
    defaults: fn() -> Value,
    time_steps: fn() -> usize,
    settings: &'static str,
    image: fn(&Map<String, Value>) -> [usize; 3],
    layers: fn(&Map<String, Value>) -> Result<Vec<Value>>,
    options: &'static [(&'static str, &'static str)],
}

/// The models of a family: a name, a summary and the default options of each.
macro_rules! models {
    ($source:literal; $($name:literal, $summary:literal, $defaults:expr;)*) => {
        pub(super) const MODELS: [super::ModelKind; [$($name),*].len()] = [$(
            super::ModelKind {
                name: $name,
                summary: $summary,
                source: $source,
                defaults: || serde_json::json!($defaults),
                time_steps: || super::Family::time_steps(&$defaults),
                settings: super::settings_of(|| $defaults),
                image: super::image_of(|| $defaults),
                layers: |options| super::layers_of(options, || $defaults),
                options: super::options_of(|| $defaults),
            }
        ),*];
    };
}
use models;

const fn options_of<F: Family>(_: fn() -> F) -> &'static [(&'static str, &'static str)] {
    F::OPTIONS
}

const fn settings_of<F: Family>(_: fn() -> F) -> &'static str {
    F::SETTINGS
}

const fn image_of<F: Family>(_: fn() -> F) -> fn(&Map<String, Value>) -> [usize; 3] {
    F::image
}

fn layers_of<F: Family>(options: &Map<String, Value>, default: fn() -> F) -> Result<Vec<Value>> {
    match read(options) {
        Ok(options) => F::layers(&options),
        Err(error) => Err(wrong_option(options, default, &error)),
    }
}

fn read<F: Family>(options: &Map<String, Value>) -> serde_json::Result<F> {
    serde_json::from_value(Value::Object(options.clone()))
}

/// The error of options that cannot be read: the first that cannot beside the defaults of the others.
fn wrong_option<F: Family>(
    options: &Map<String, Value>,
    default: fn() -> F,
    error: &serde_json::Error,
) -> Error {
    let defaults = json!(default());
    let is_wrong = |(option, value): &(&String, &Value)| {
        let mut alone = defaults.as_object().cloned().unwrap_or_default();
        alone.insert(option.to_string(), (*value).clone());
        read::<F>(&alone).is_err()
    };
    let Some((option, value)) = options.iter().find(is_wrong) else {
        return Error::invalid("option", error.to_string(), "correct it");
    };
    match expected(option, &defaults[option], value) {
        Some(expected) => Error::invalid(
            format!("option `{option}`"),
            format!("{value} is not {expected}"),
            format!("set `{option}` to {expected}"),
        ),
        None => Error::invalid(
            format!("option `{option}`"),
            format!("{value}: {error}"),
            format!("correct `{option}`"),
        ),
    }
}

/// The value of an option that is a number.
fn number(options: &Map<String, Value>, option: &str) -> usize {
    let value = options.get(option).and_then(Value::as_u64);
    value.and_then(|n| n.try_into().ok()).unwrap_or_default()
}

/// The neurons of a hidden layer: 16 times the channels, where 0 is given.
fn hidden_or_wide(hidden: usize, channels: usize) -> usize {
    match hidden {
        0 => channels.saturating_mul(16),
        given => given,
    }
}

/// The number of blocks of each stage, which are to be as few as lists of layers may have.
fn bounded(blocks: &[usize], name: &str) -> Result<()> {
    let total = blocks.iter().fold(0_usize, |all, &n| all.saturating_add(n));
    match (1..=MAX_LAYERS).contains(&total) && !blocks.contains(&0) {
        true => Ok(()),
        false => Err(Error::invalid(
            name,
            format!("{blocks:?} are {total} blocks"),
            format!("give at least one for each stage, and at most {MAX_LAYERS} in all"),
        )),
    }
}

/// A network of the literature: a name, and options over its defaults.
///
/// ```
/// use spikelet_nn::network::Model;
/// let model = Model::find("sew-resnet18")?.with("connect", "and")?.with("classes", 10)?;
/// assert_eq!(model.layers()?.outputs()?, 10);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// The option `size` is one number for square images, or height and width:
///
/// ```
/// use spikelet_nn::network::Model;
/// let model = Model::find("sew-resnet18")?.with("size", [48, 64])?;
/// assert_eq!(model.layers()?.input, [3, 48, 64]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// [`Model::options`] says what each option means. Parameters have the names that they have in the authors' programs, as
/// far as these have one name for a layer.
#[derive(Clone)]
pub struct Model {
    kind: &'static ModelKind,
    values: Map<String, Value>,
}

impl Model {
    /// The names of all models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        kinds().map(|kind| kind.name)
    }

    /// The model of this name with its defaults.
    ///
    /// ```
    /// use spikelet_nn::network::Model;
    /// assert!(Model::find("SEW-ResNet18").is_ok());
    /// assert!(Model::find("alexnet").is_err());
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        Ok(Self::named(name)?)
    }

    pub(super) fn named(name: &str) -> Result<Self, DefinitionError> {
        let meant = suggest::find(name, Self::names());
        let found = kinds().find(|kind| Some(kind.name) == meant);
        let kind = found.ok_or_else(|| DefinitionError::UnknownName {
            family: "network",
            name: name.to_string(),
            known: Self::names().collect(),
        })?;
        let values = match (kind.defaults)() {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        Ok(Self { kind, values })
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// A description in one line.
    pub fn summary(&self) -> &'static str {
        self.kind.summary
    }

    /// The publication.
    pub fn source(&self) -> &'static str {
        self.kind.source
    }

    /// The time steps with which the authors train it.
    pub fn time_steps(&self) -> usize {
        (self.kind.time_steps)()
    }

    /// The settings with which it is trained, as the tables of an experiment file. They do not name its time steps.
    pub fn settings(&self) -> &'static str {
        self.kind.settings
    }

    /// The options with what they mean, and their values.
    pub fn options(&self) -> Vec<(&'static str, &'static str, &Value)> {
        let own = self.kind.options;
        let is_own = |key: &str| own.iter().any(|(own, _)| *own == key);
        let common = COMMON.iter().filter(|(key, _)| !is_own(key));
        let all = common.chain(own);
        let known = all.filter_map(|(key, doc)| Some((*key, *doc, self.values.get(*key)?)));
        known.collect()
    }

    /// The values of the options by their keys.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The model with another value of an option.
    ///
    /// # Errors
    /// As [`Model::with_all`].
    pub fn with(self, option: &str, value: impl Into<Value>) -> Result<Self> {
        self.with_all([(option, value.into())])
    }

    /// The model with other values of several options, which may fit together only as a whole.
    ///
    /// ```
    /// use spikelet_nn::network::Model;
    /// let model = Model::find("sew-7b-net")?;
    /// let model = model.with_all([("channels", [8, 16].into()), ("pools", [2, 0].into())])?;
    /// assert_eq!(model.layers()?.outputs()?, 11);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such option, the value is not one of it, or the options do not fit together.
    pub fn with_all<'a>(
        mut self,
        options: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self> {
        for (option, value) in options {
            let Some(own) = self.values.get_mut(option) else {
                let known: Vec<&str> = self.values.keys().map(String::as_str).collect();
                return Err(Error::invalid(
                    "option",
                    format!("{} has no option `{option}`", self.kind.name),
                    format!("its options: {}", known.join(", ")),
                ));
            };
            *own = match ImageSize::of(&value) {
                Some(size) if option == "size" => size.into(),
                _ => value,
            };
        }
        (self.kind.layers)(&self.values)?;
        Ok(self)
    }

    pub(super) fn number(&self, option: &str) -> usize {
        number(&self.values, option)
    }

    /// Channels, height and width of the images that it takes.
    pub(super) fn image(&self) -> [usize; 3] {
        (self.kind.image)(&self.values)
    }

    pub(super) fn set(&mut self, option: &str, value: Value) {
        self.values.insert(option.to_string(), value);
    }

    /// The neuron's specification.
    pub(super) fn neuron_mut(&mut self) -> &mut Value {
        self.values.entry("neuron").or_insert(Value::Null)
    }

    /// The layers, which files may have instead of the model.
    ///
    /// # Errors
    /// When options do not fit together.
    pub fn layers(&self) -> Result<Layers> {
        Ok(Layers {
            name: self.kind.name.to_string(),
            source: self.kind.source.to_string(),
            input: self.image().to_vec(),
            neuron: self.values.get("neuron").cloned().unwrap_or_default(),
            layers: (self.kind.layers)(&self.values)?,
        })
    }

    /// The module, for sequences `[T, N, inputs, height, width]`.
    ///
    /// # Errors
    /// When options do not fit together, or a size is out of range.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        self.layers()?.module()
    }

    /// The keys of a file.
    pub(super) fn to_json(&self) -> Value {
        let mut map = self.values.clone();
        map.insert("name".to_string(), self.kind.name.into());
        Value::Object(map)
    }

    /// The model of the keys of a file or a checkpoint, with the defaults of those that are not given.
    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let name = value.get("name").and_then(Value::as_str);
        let given = value.as_object().into_iter().flatten();
        let options = given.filter(|(key, _)| *key != "name");
        Self::find(name.unwrap_or_default())?
            .with_all(options.map(|(key, value)| (key.as_str(), value.clone())))
    }
}

fn kinds() -> impl Iterator<Item = &'static ModelKind> {
    FAMILIES.into_iter().flatten()
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values == other.values
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Model").field(&self.to_json()).finish()
    }
}

#[cfg(test)]
mod tests;
