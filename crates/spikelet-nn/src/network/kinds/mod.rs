//! The kinds of layers of a list, one file each. A new one needs a file and a line in [`all`].

mod activation;
mod attention;
mod batch_norm;
mod branches;
mod conv;
mod delay;
mod dropout;
mod eventprop;
mod flatten;
mod group_norm;
mod keys;
mod layer_norm;
mod linear;
mod neuron;
mod neuron_layer;
mod online_eprop;
mod plastic;
mod plastic_recurrent;
mod pointwise;
mod pool;
mod qcfs;
mod recurrent;
mod rescale;
mod residual;
mod rule_settings;
mod sequence;
mod static_input;
mod time;
mod trace_learning;
mod voting;

use super::build::Builder;
use super::layer_fields::LayerFields;
use crate::domain::Domain;
use crate::module::Module;
use spikelet_core::document::{Entry, Located, Node};
use spikelet_core::suggest::closest;
use std::sync::Arc;

/// The value of the key with the name of a kind.
#[derive(Clone, Copy)]
pub(super) enum MainValue {
    /// A layer has none: `"flatten"`.
    None,
    /// A layer may have one.
    Optional(LayerKey),
    /// A layer must have one: `{ linear = 10 }`.
    Required(LayerKey),
    /// The layers that it groups, which it must have: `{ residual = […] }`. Its name may be empty.
    Layers(LayerKey),
}

impl MainValue {
    /// The value as a key, if there is one.
    pub fn key(self) -> Option<LayerKey> {
        match self {
            Self::None => None,
            Self::Optional(key) | Self::Required(key) | Self::Layers(key) => Some(key),
        }
    }

    /// The description of the value.
    pub fn expected(self) -> &'static str {
        self.key().map_or("", |key| key.doc)
    }
}

/// Builds a layer from its keys.
type Build = fn(&LayerFields<'_>, &mut Builder) -> Result<Arc<dyn Module>, Located>;

/// A key of a layer in files, which is an argument in programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerKey {
    /// Its name.
    pub name: &'static str,
    /// Its type: `flag`, `integer`, `number`, `numbers`, `text`, `texts`, `table`, `sizes` (an integer for all axes, or a list of
    /// one for each), `neuron`, `layer` or `layers`; several are joined by ` or `.
    pub ty: &'static str,
    /// The default as JSON, where `null` leaves the value to other settings; none for a key that must be given.
    pub default: Option<&'static str>,
    /// Its meaning.
    pub doc: &'static str,
}

/// A kind of layers.
pub(super) struct Kind {
    pub name: &'static str,
    /// Its type; or those for one, two and three axes, of which the input decides.
    pub types: &'static [&'static str],
    pub summary: &'static str,
    pub main: MainValue,
    /// The other keys.
    pub keys: &'static [LayerKey],
    /// The shape of a time step, and a layer for it.
    pub example: (&'static [usize], &'static str),
    pub build: Build,
}

/// All kinds.
pub(super) fn all() -> impl Iterator<Item = &'static Kind> {
    [
        &linear::LINEAR,
        &conv::CONV,
        &conv::CONV_TRANSPOSED,
        &pool::MAX_POOL,
        &pool::AVG_POOL,
        &pool::ADAPTIVE_MAX_POOL,
        &pool::ADAPTIVE_AVG_POOL,
        &batch_norm::BATCH_NORM,
        &layer_norm::LAYER_NORM,
        &group_norm::GROUP_NORM,
        &dropout::DROPOUT,
        &dropout::DROPOUT2D,
        &flatten::FLATTEN,
        &activation::RELU,
        &activation::LEAKY_RELU,
        &activation::GELU,
        &activation::SILU,
        &activation::SIGMOID,
        &activation::TANH,
        &qcfs::QCFS,
        &rescale::RESCALE,
        &pointwise::POINTWISE,
        &attention::SELF_ATTENTION,
        &attention::TOKEN_ATTENTION,
        &attention::SPIKE_DRIVEN_ATTENTION,
        &neuron::NEURON,
        &plastic::PLASTIC,
        &plastic_recurrent::PLASTIC_RECURRENT,
        &recurrent::RNN,
        &recurrent::RECURRENT,
        &online_eprop::ONLINE_EPROP,
        &trace_learning::TRACE_LEARNING,
        &eventprop::EVENTPROP_LIF,
        &eventprop::EVENTPROP_READOUT,
        &delay::DELAYED_RECURRENT,
        &delay::DCLS,
        &delay::DELAYED_LINEAR,
        &delay::AXONAL_DELAY,
        &delay::PAD_TIME,
        &voting::VOTING,
        &time::TIME_MEAN,
        &time::TIME_LAST,
        &time::TIME_SUM,
        &time::TIME_MAX,
        &time::SOFTMAX_SUM,
        &neuron_layer::RLIF,
        &neuron_layer::ADLIF,
        &neuron_layer::RADLIF,
        &neuron_layer::CADLIF,
        &neuron_layer::SILIF,
        &neuron_layer::CSILIF,
        &neuron_layer::SE_ADLIF,
        &neuron_layer::EF_ADLIF,
        &neuron_layer::RDECAY_LIF,
        &neuron_layer::RLEAKY,
        &neuron_layer::RSYNAPTIC,
        &neuron_layer::LIF_RECURRENT,
        &neuron_layer::RALIF,
        &neuron_layer::LI_READOUT,
        &neuron_layer::SPARCH_READOUT,
        &sequence::LAYERS,
        &residual::RESIDUAL,
        &branches::BRANCHES,
        &static_input::STATIC,
    ]
    .into_iter()
}

/// A number of a domain.
fn number(node: &Node, key: &str, domain: Domain) -> Result<f64, Located> {
    let value = node.number(key)?;
    match domain.contains(value) {
        true => Ok(value),
        false => Err(node.wrong(key, domain.to_string())),
    }
}

/// The kind of this name.
pub(super) fn find(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name == name)
}

/// The names of all kinds.
pub(super) fn names() -> String {
    let names: Vec<&str> = all().map(|kind| kind.name).collect();
    format!("layers: {}", names.join(", "))
}

/// The help for a name that is no kind.
pub(super) fn help_for(name: &str) -> String {
    match closest_name(name) {
        Some(name) => format!("did you mean `{name}`?"),
        None => names(),
    }
}

/// The name closest to a misspelt one. Names that other libraries use are known too.
fn closest_name(given: &str) -> Option<&'static str> {
    const OTHERS: [(&str, &str); 24] = [
        ("fc", "linear"),
        ("dense", "linear"),
        ("conv1d", "conv"),
        ("conv2d", "conv"),
        ("conv3d", "conv"),
        ("conv-transpose", "conv-transposed"),
        ("avgpool", "avg-pool"),
        ("average-pool", "avg-pool"),
        ("bn", "batch-norm"),
        ("batchnorm2d", "batch-norm"),
        ("spike", "neuron"),
        ("lif", "neuron"),
        ("rlif", "rnn"),
        ("stdp", "plastic"),
        ("eprop", "online-eprop"),
        ("ottt", "trace-learning"),
        ("rsnn", "rnn"),
        ("parallel", "branches"),
        ("sequential", "layers"),
        ("dcls1d", "dcls"),
        ("delrec", "delayed-recurrent"),
        ("delay", "axonal-delay"),
        ("synaptic-delay", "axonal-delay"),
        ("delay-linear", "delayed-linear"),
    ];
    let given = given.to_lowercase().replace('_', "-");
    let other = OTHERS.iter().find(|(other, _)| *other == given);
    let names = all().map(|kind| kind.name);
    other
        .map(|(_, name)| *name)
        .or_else(|| closest(&given, names))
}

/// The entry of a table that is meant as the name of a kind: the closest to one, or else the first that is no
/// key of any kind.
pub(super) fn misspelt(entries: &[Entry]) -> Option<&Entry> {
    let is_key =
        |key: &str| key == "name" || all().any(|kind| kind.keys.iter().any(|k| k.name == key));
    let mut unknown = entries.iter().filter(|entry| !is_key(&entry.key));
    let first = unknown.clone().next();
    unknown.find(|e| closest_name(&e.key).is_some()).or(first)
}

/// The name, the value, the further keys and a summary of all kinds of layers of a [`Layers`](super::Layers) list.
///
/// ```
/// let kinds = spikelet_nn::network::layer_kinds();
/// let conv = kinds.iter().find(|kind| kind.name == "conv").expect("a layer");
/// assert_eq!(conv.keys[1].name, "kernel");
/// ```
pub fn layer_kinds() -> Vec<LayerKind> {
    let described = |kind: &'static Kind| LayerKind {
        name: kind.name,
        types: kind.types,
        main: kind.main.key(),
        keys: kind.keys,
        summary: kind.summary,
        input: kind.example.0,
        example: kind.example.1,
    };
    all().map(described).collect()
}

/// A kind of layers in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerKind {
    /// Its name, the key of its value.
    pub name: &'static str,
    /// Its type; or those for one, two and three axes, of which the input decides.
    pub types: &'static [&'static str],
    /// Its value, if it has one, under the name that programs give it.
    pub main: Option<LayerKey>,
    /// Its other keys.
    pub keys: &'static [LayerKey],
    /// A summary of one line.
    pub summary: &'static str,
    /// The shape of a time step that the example takes.
    pub input: &'static [usize],
    /// A layer of this kind in a list, such as `{ linear = 6 }`.
    pub example: &'static str,
}
