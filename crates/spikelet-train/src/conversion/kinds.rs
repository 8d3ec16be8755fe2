//! The kinds of layers: which are converted, and why others are not.

use super::error::ConversionError;
use super::tree::Layer;

/// Layers with weights, which scales and batch normalization can be part of.
pub(super) const WEIGHTS: [&str; 4] = ["linear", "conv", "conv-transposed", "pointwise"];

/// Activations that a neuron takes the place of.
pub(super) const ACTIVATIONS: [&str; 2] = ["relu", "qcfs"];

/// The largest element of windows.
pub(super) const MAX_POOLS: [&str; 2] = ["max-pool", "adaptive-max-pool"];

/// Linear functions that commute with a factor for each channel.
pub(super) const PASSING: [&str; 4] = ["avg-pool", "adaptive-avg-pool", "dropout", "dropout2d"];

/// Other linear or affine functions of a step: their mean over time is that of their input.
const AFFINE: [&str; 4] = ["flatten", "batch-norm", "rescale", "voting"];

/// Layers with others inside.
const GROUPS: [&str; 4] = ["layers", "static", "residual", "branches"];

/// Checks that a layer can be converted; of max pooling only whether it is known.
pub(super) fn check(layer: &Layer, path: &str) -> Result<(), ConversionError> {
    let known = [
        &WEIGHTS[..],
        &ACTIVATIONS,
        &MAX_POOLS,
        &PASSING,
        &AFFINE,
        &GROUPS,
    ];
    let (problem, help) = match layer.kind.as_str() {
        "residual" if !matches!(join_of(layer), None | Some("add")) => (
            "only an addition of the branches is a sum of rates",
            "join the branches with `add`",
        ),
        "batch-norm" if layer.fields.contains_key("time_steps") => (
            "it has a factor for each time step of the training",
            "train with a batch norm without `time_steps`",
        ),
        kind if known.iter().any(|kinds| kinds.contains(&kind)) => return Ok(()),
        "leaky-relu" | "gelu" | "silu" => (
            "its outputs can be below 0, which no rate of spikes is",
            "train with `relu` or `qcfs` in its place",
        ),
        "sigmoid" | "tanh" => (
            "its outputs are not proportional to its inputs, as rates of spikes are",
            "train with `relu` or `qcfs` in its place",
        ),
        "neuron" => (
            "it is a spiking neuron already",
            "give an artificial neural network, with `relu` or `qcfs` in place of neurons",
        ),
        "layer-norm" | "group-norm" => (
            "it normalizes each time step by itself, which is not the normalization of the mean",
            "train with `batch-norm` in its place, which becomes part of the weights",
        ),
        kind if kind.starts_with("time-") || kind == "softmax-sum" => (
            "an artificial neural network has no time steps",
            "leave it out: scores are the mean of the output over time",
        ),
        kind if kind.contains("attention") => (
            "it multiplies activations with each other",
            "use a network of linear layers, convolutions, `relu` and `qcfs`",
        ),
        _ => (
            "only layers without a state are, with `relu` or `qcfs` as activations",
            "use a network of linear layers, convolutions, pooling, batch norm, residual branches, `relu` and `qcfs`",
        ),
    };
    Err(refused(layer, path, problem, help))
}

/// The name of the function that combines the branches of a residual block.
fn join_of(layer: &Layer) -> Option<&str> {
    layer.fields.get("join").and_then(|join| join.as_str())
}

/// The error for a layer.
pub(super) fn refused(layer: &Layer, path: &str, problem: &str, help: &str) -> ConversionError {
    ConversionError::Layer {
        layer: path.to_string(),
        kind: layer.kind.clone(),
        problem: problem.to_string(),
        help: help.to_string(),
    }
}
