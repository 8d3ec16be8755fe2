//! The layers of lists, as JSON.

use serde_json::{Value, json};

/// PyTorch's `kaiming_normal_` with `mode='fan_out'`.
pub const KAIMING: &str = "kaiming-normal";

/// A convolution that keeps the size with stride 1, without bias, with PyTorch's initial values.
pub fn conv(outputs: usize, kernel: usize, stride: usize) -> Value {
    json!({"conv": outputs, "kernel": kernel, "stride": stride, "padding": kernel / 2})
}

/// A linear layer with bias.
pub fn linear(outputs: usize) -> Value {
    json!({"linear": outputs, "bias": true})
}

/// A layer of its name only: `"flatten"`, `"neuron"`.
pub fn plain(kind: &str) -> Value {
    json!({"layer": kind})
}

/// Batch norm.
pub fn norm() -> Value {
    plain("batch-norm")
}

/// The network's neuron.
pub fn fire() -> Value {
    plain("neuron")
}

/// Layers together.
pub fn group(layers: Vec<Value>) -> Value {
    json!({"layers": layers})
}

/// A main branch with the input, or a shortcut, joined to it.
pub fn residual(main: Vec<Value>, names: [&str; 2]) -> Value {
    json!({"residual": main, "names": names})
}

/// The maximum of 3 × 3 windows with stride 2.
pub fn max_pool() -> Value {
    json!({"max-pool": 3, "stride": 2, "padding": 1})
}

/// The mean over the positions of a map, and a linear layer of the classes named `name` with these keys.
pub fn head(name: &str, classes: Value) -> Vec<Value> {
    vec![
        named("mean", json!({"adaptive-avg-pool": 1})),
        named("flatten", plain("flatten")),
        named(name, classes),
    ]
}

/// The layer with a name.
pub fn named(name: &str, layer: Value) -> Value {
    with(layer, "name", name.into())
}

/// The layer with another key.
pub fn with(mut layer: Value, key: &str, value: Value) -> Value {
    layer[key] = value;
    layer
}
