//! Keys that several kinds of layers have.

use super::LayerKey;
use super::kind::{MainValue, key};

pub(crate) const BIAS: LayerKey = key!(bias: "flag" = "false", "whether there is a bias");
pub(crate) const BIAS_INIT: LayerKey = key!(bias_init: "number" = "null", "the initial value of biases; by default that of the weights' distribution");
pub(crate) const CELL: LayerKey =
    key!(cell: "neuron" = "null", "the neuron; by default the network's");
pub(crate) const DILATION: LayerKey =
    key!(dilation: "sizes" = "1", "the distance of elements in a window");
pub(crate) const DROPOUT_P: LayerKey =
    key!(dropout_p: "number" = "0.0", "the probability of dropout, below 1");
pub(crate) const EPSILON: LayerKey =
    key!(epsilon: "number" = "1e-05", "the number that is added to the variance");
pub(crate) const INIT: LayerKey = key!(init: "text or table" = "null", "initial weights: `fan-in` (the default), `kaiming-normal`, or a table with `normal = 0.02` or `uniform = [0.0, 0.3]`");
pub(crate) const INPUTS: LayerKey =
    key!(inputs: "integer" = "null", "the number of inputs, by which the input is checked");
pub(crate) const MOMENTUM: LayerKey =
    key!(momentum: "number" = "0.1", "the share of a batch in the running statistics");
pub(crate) const PADDING: LayerKey =
    key!(padding: "sizes" = "0", "the elements that are added on both sides of each axis");

pub(crate) const NEURON: MainValue = MainValue::Optional(
    key!(neuron: "neuron" = "null", "the name of a neuron, or a table with `name` and constants"),
);
pub(crate) const NEURONS: MainValue =
    MainValue::Required(key!(features: "integer", "the number of neurons"));
pub(crate) const OUT_CHANNELS: MainValue =
    MainValue::Required(key!(out_channels: "integer", "the number of output channels"));
pub(crate) const OUT_FEATURES: MainValue =
    MainValue::Required(key!(out_features: "integer", "the number of output features"));
