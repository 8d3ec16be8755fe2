//! Keys that several kinds of layers have.

use super::LayerKey;

/// A key: its name, its type, its default and its meaning. One without a default must be given; with the default `null` another
/// setting decides.
macro_rules! key {
    ($name:ident: $ty:literal = $default:literal, $doc:literal) => {
        crate::network::kinds::LayerKey {
            name: stringify!($name),
            ty: $ty,
            default: Some($default),
            doc: $doc,
        }
    };
    ($name:ident: $ty:literal, $doc:literal) => {
        crate::network::kinds::LayerKey {
            name: stringify!($name),
            ty: $ty,
            default: None,
            doc: $doc,
        }
    };
}

pub(super) use key;

pub(super) const BIAS: LayerKey = key!(bias: "flag" = "false", "whether there is a bias");
pub(super) const BIAS_INIT: LayerKey = key!(bias_init: "number" = "null", "the initial value of biases; by default that of the weights' distribution");
pub(super) const BOUNDS: LayerKey = key!(bounds: "numbers" = "null", "the interval to which weights are clamped; by default that of the rule");
pub(super) const CEIL: LayerKey =
    key!(ceil: "flag" = "false", "whether windows may reach over the end of an axis");
pub(super) const CELL_KEY: LayerKey =
    key!(cell: "neuron" = "null", "the neuron; by default the network's");
pub(super) const DILATION: LayerKey =
    key!(dilation: "sizes" = "1", "the distance of elements in a window");
pub(super) const DROPOUT_P: LayerKey =
    key!(dropout_p: "number" = "0.0", "the probability of dropout, below 1");
pub(super) const DT: LayerKey =
    key!(dt: "number" = "1.0", "the length of a step, above 0, in the same unit");
pub(super) const EPSILON: LayerKey =
    key!(epsilon: "number" = "1e-05", "the number that is added to the variance");
pub(super) const GROUPS: LayerKey =
    key!(groups: "integer" = "1", "the number of groups of channels");
pub(super) const INIT: LayerKey = key!(init: "text or table" = "null", "initial weights: `fan-in` (the default), `kaiming-normal`, or a table with `normal = 0.02` or `uniform = [0.0, 0.3]`");
pub(super) const INPUTS: LayerKey =
    key!(inputs: "integer" = "null", "the number of inputs, by which the input is checked");
pub(super) const KERNEL: LayerKey = key!(kernel: "sizes", "the size of the window");
pub(super) const LAST: LayerKey =
    key!(last: "flag" = "false", "whether only the last time step is returned");
pub(super) const LEARNING_RATE: LayerKey =
    key!(learning_rate: "number" = "1.0", "the factor of a change");
pub(super) const LOCAL_GRADIENT: LayerKey = key!(local_gradient: "flag" = "false", "whether spikes that are fed back have no gradient, as in e-prop");
pub(super) const MAX_DELAY_KEY: LayerKey =
    key!(max_delay: "integer", "the longest delay in time steps");
pub(super) const MOMENTUM: LayerKey =
    key!(momentum: "number" = "0.1", "the share of a batch in the running statistics");
pub(super) const PADDING: LayerKey =
    key!(padding: "sizes" = "0", "the elements that are added on both sides of each axis");
pub(super) const PRODUCT_NEURON: LayerKey =
    key!(product_neuron: "neuron" = "null", "the neuron of the products; by default the network's");
pub(super) const RULE: LayerKey = key!(rule: "text or table", "the learning rule: `stdp`, `pair-stdp`, `triplet-stdp`, `reward-stdp`, `reward-trace-stdp`, or a table with `name` and constants");
pub(super) const STRIDE: LayerKey = key!(stride: "sizes" = "1", "the distance of windows");
pub(super) const TAU_M: LayerKey =
    key!(tau_m: "number" = "20.0", "the time constant of the membrane, above 0");
pub(super) const TAU_S: LayerKey =
    key!(tau_s: "number" = "5.0", "the time constant of the synapses, above 0, in the same unit");
pub(super) const UPDATE: LayerKey = key!(update: "text" = "\"each-step\"", "when the weights change: `each-step`, `end-of-call` or `gradient`");
pub(super) const WEIGHTS: LayerKey = key!(weights: "text" = "null", "the shape of the weights, as of the layer of which they are in other programs: `linear`, `conv1d` or `conv2d`");
pub(super) const WINDOW_STRIDE: LayerKey =
    key!(stride: "sizes" = "null", "the distance of windows; by default the size of the window");
