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

use super::limits::MAX_LAYERS;
use super::{ImageSize, Layers};
use crate::module::Module;
use serde_json::{Map, Value};
use spikelet_core::{Error, Result};
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{
    KeyValue, RecordMut, Schema, UnknownName, flattened, flattened_mut, named, read_into_named,
    to_json, to_keys,
};
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
trait Family: RecordMut + Boxed + Send + Sync {
    /// The settings of training, as the tables of a file.
    fn settings(&self) -> &'static str {
        "encoder.name = \"direct\"\nloss.name = \"cross-entropy\""
    }

    /// The time steps with which the authors train it.
    fn time_steps(&self) -> usize {
        4
    }

    /// Channels, height and width of the images that it takes.
    fn image(&self) -> [usize; 3] {
        let images = flattened::<Images>(self);
        images.map_or([0; 3], |images| images.size.image(images.inputs))
    }

    /// The layers.
    ///
    /// # Errors
    /// When options do not fit together; the message names them. Sizes of layers are checked when the list is read.
    fn layers(&self) -> Result<Vec<Value>>;
}

/// Copies of options whose type is not known.
trait Boxed {
    fn boxed(&self) -> Box<dyn Family>;
}

impl<F: Family + Clone + 'static> Boxed for F {
    fn boxed(&self) -> Box<dyn Family> {
        Box::new(self.clone())
    }
}

/// The options of models that take images.
#[derive(Clone, Schema)]
struct Images {
    /// Channels of an image or frame.
    #[schema(at_least = 1)]
    inputs: usize,
    /// Its height and width, as `64` or `[48, 64]`.
    #[schema(default = ImageSize::from(1))]
    size: ImageSize,
}

impl Images {
    fn new(inputs: usize, side: usize) -> Self {
        let size = side.into();
        Self { inputs, size }
    }
}

/// The options of all models.
#[derive(Clone, Schema)]
struct Common {
    /// Number of classes.
    #[schema(at_least = 1)]
    classes: usize,
    /// Neuron of the layers without their own.
    neuron: Value,
}

/// What [`Model::common`] relies on.
const COMMON: &str = "the options of every family have those of all models";

impl Common {
    fn new(classes: usize, neuron: Value) -> Self {
        Self { classes, neuron }
    }
}

/// A model by its name.
struct ModelKind {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    /// The options with their defaults.
    defaults: fn() -> Box<dyn Family>,
}

/// The models of a family: a name, a summary and the default options of each.
macro_rules! models {
    ($source:literal; $($name:literal, $summary:literal, $defaults:expr;)*) => {
        pub(super) const MODELS: [super::ModelKind; [$($name),*].len()] = [$(
            super::ModelKind {
                name: $name,
                summary: $summary,
                source: $source,
                defaults: || Box::new($defaults),
            }
        ),*];
    };
}
use models;

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
            format!("`{name}`"),
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
pub struct Model {
    kind: &'static ModelKind,
    options: Box<dyn Family>,
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
    /// [`UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        Ok(Self::named(name)?)
    }

    pub(super) fn named(name: &str) -> Result<Self, UnknownName> {
        let kind = named("network", name, kinds(), |kind| kind.name)?;
        let options = (kind.defaults)();
        Ok(Self { kind, options })
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
        (self.kind.defaults)().time_steps()
    }

    /// The settings with which it is trained, as the tables of an experiment file. They do not name its time steps.
    pub fn settings(&self) -> &'static str {
        self.options.settings()
    }

    /// The options with their declarations and values.
    ///
    /// ```
    /// use spikelet_nn::network::Model;
    /// let options = Model::find("sew-resnet18")?.options();
    /// let connect = options.iter().find(|option| option.key == "connect").expect("it has it");
    /// assert_eq!((connect.value.as_str(), connect.field.summary()), (Some("add"), "Join of block and shortcut.".to_string()));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn options(&self) -> Vec<KeyValue> {
        to_keys(&*self.options)
    }

    /// The values of the options by their keys.
    pub fn values(&self) -> Map<String, Value> {
        to_json(&*self.options)
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
    pub fn with_all<'a>(self, options: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Self> {
        let options = options.into_iter();
        self.with_map(
            options
                .map(|(key, value)| (key.to_string(), value))
                .collect(),
        )
    }

    fn with_map(self, options: Map<String, Value>) -> Result<Self> {
        let read = Node::from_json(&Value::Object(options)).and_then(|table| self.read(&table));
        Ok(read.map_err(|error| error.without_text("network options"))?)
    }

    /// The model with the options of a table.
    ///
    /// # Errors
    /// As [`Model::with_all`].
    pub(super) fn read(mut self, table: &Node) -> Result<Self, Located> {
        let name = format!("the network `{}`", self.kind.name);
        read_into_named(&mut *self.options, name, table)?;
        let made = self.options.layers();
        made.map_err(|error| Located::refused(&error, "correct the value").or_at_key(table))?;
        Ok(self)
    }

    /// Channels, height and width of the images that it takes.
    pub(super) fn image(&self) -> [usize; 3] {
        self.options.image()
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.common().classes
    }

    pub(super) fn set_classes(&mut self, classes: usize) {
        self.common_mut().classes = classes;
    }

    /// The neuron's specification.
    pub(super) fn neuron_mut(&mut self) -> &mut Value {
        &mut self.common_mut().neuron
    }

    fn common(&self) -> &Common {
        flattened(&*self.options).expect(COMMON)
    }

    fn common_mut(&mut self) -> &mut Common {
        flattened_mut(&mut *self.options).expect(COMMON)
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
            neuron: self.common().neuron.clone(),
            layers: self.options.layers()?,
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
        let mut map = self.values();
        map.insert("name".to_string(), self.kind.name.into());
        Value::Object(map)
    }

    /// The model of the keys of a file or a checkpoint, with the defaults of those that are not given.
    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let mut options = value.as_object().cloned().unwrap_or_default();
        let name = options.remove("name");
        let name = name.as_ref().and_then(Value::as_str);
        Self::find(name.unwrap_or_default())?.with_map(options)
    }
}

fn kinds() -> impl Iterator<Item = &'static ModelKind> {
    FAMILIES.into_iter().flatten()
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            options: self.options.boxed(),
        }
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values() == other.values()
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Model").field(&self.to_json()).finish()
    }
}

#[cfg(test)]
mod tests;
