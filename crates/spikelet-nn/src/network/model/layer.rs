//! The layers of lists, as JSON.

use crate::layer::Join;
use serde_json::{Value, json};

/// PyTorch's `kaiming_normal_` with `mode='fan_out'`.
pub const KAIMING: &str = "kaiming-normal";

/// A convolution that keeps the size with stride 1, without bias, with PyTorch's initial values.
pub fn conv(outputs: usize, kernel: usize, stride: usize) -> Value {
    json!({"conv": outputs, "kernel": kernel, "stride": stride, "padding": kernel / 2, "bias": false})
}

/// The same with the initial values of [`KAIMING`].
pub fn kaiming(outputs: usize, kernel: usize, stride: usize) -> Value {
    with(conv(outputs, kernel, stride), "init", KAIMING.into())
}

/// A linear layer without bias.
pub fn unbiased(outputs: usize) -> Value {
    json!({"linear": outputs, "bias": false})
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

/// A residual block with this join.
pub fn joined(residual: Value, join: Join) -> Value {
    with(residual, "join", json!(join))
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

/// The first layers of a network, whose names are part of the network; run once for an image if `once`, or at each step.
pub fn stem(layers: Vec<Value>, once: bool) -> Value {
    let kind = if once { "static" } else { "layers" };
    json!({"name": "", kind: layers})
}

/// Layers that run once for an image.
pub fn once(name: &str, layers: Vec<Value>) -> Value {
    json!({"name": name, "static": layers})
}

/// The stages `layer1`, `layer2`, … of a residual network with so many blocks each. The width doubles from stage to stage, and
/// the size is halved. `block` makes a block from the width and the stride.
pub fn stages(
    width: usize,
    blocks: &[usize],
    mut block: impl FnMut(usize, usize) -> Value,
) -> Vec<Value> {
    let mut stages = vec![];
    for (stage, &blocks) in blocks.iter().enumerate() {
        let width = width.saturating_mul(1 << stage);
        let stride = |k| if stage > 0 && k == 0 { 2 } else { 1 };
        let made = (0..blocks).map(|k| block(width, stride(k))).collect();
        stages.push(named(&format!("layer{}", stage + 1), group(made)));
    }
    stages
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

/// The layer with these initial weights, and biases that start at 0.
pub fn with_init(layer: Value, init: Value) -> Value {
    with(with(layer, "init", init), "bias_init", json!(0.0))
}
