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
    Optional(&'static str),
    /// A layer must have one: `{ linear = 10 }`.
    Required(&'static str),
    /// The layers that it groups, which it must have: `{ residual = […] }`. Its name may be empty.
    Layers(&'static str),
}

impl MainValue {
    /// The description of the value.
    pub fn expected(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Optional(what) | Self::Required(what) | Self::Layers(what) => what,
        }
    }
}

/// Builds a layer from its keys.
type Build = fn(&LayerFields<'_>, &mut Builder) -> Result<Arc<dyn Module>, Located>;

/// A kind of layers.
pub(super) struct Kind {
    pub name: &'static str,
    pub summary: &'static str,
    pub main: MainValue,
    /// The other keys.
    pub keys: &'static [&'static str],
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
    let is_key = |key: &str| key == "name" || all().any(|kind| kind.keys.contains(&key));
    let mut unknown = entries.iter().filter(|entry| !is_key(&entry.key));
    let first = unknown.clone().next();
    unknown.find(|e| closest_name(&e.key).is_some()).or(first)
}

/// The name, the value, the further keys and a summary of all kinds of layers of a [`Layers`](super::Layers) list.
///
/// ```
/// let kinds = spikelet_nn::network::layer_kinds();
/// let conv = kinds.iter().find(|kind| kind.name == "conv").expect("a layer");
/// assert_eq!(conv.keys[1], "kernel");
/// ```
pub fn layer_kinds() -> Vec<LayerKind> {
    let described = |kind: &'static Kind| LayerKind {
        name: kind.name,
        value: kind.main.expected(),
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
    /// Its value; empty if it has none.
    pub value: &'static str,
    /// Its other keys.
    pub keys: &'static [&'static str],
    /// A summary of one line.
    pub summary: &'static str,
    /// The shape of a time step that the example takes.
    pub input: &'static [usize],
    /// A layer of this kind in a list, such as `{ linear = 6 }`.
    pub example: &'static str,
}
