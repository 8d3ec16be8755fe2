//! What the transformers have in common.

use super::layer::{group, linear, named, residual, with_init};
use super::stochastic_depth::skipped;
use serde_json::{Value, json};
use spikelet_schema::Schema;

/// What the authors' programs for different data differ in.
#[derive(Clone, Copy, PartialEq, Eq, Schema)]
pub enum Data {
    /// That for CIFAR.
    Cifar,
    /// That for ImageNet.
    #[schema(name = "imagenet")]
    ImageNet,
    /// That for event frames.
    Dvs,
}

impl Data {
    /// The time steps of the authors' programs.
    pub fn time_steps(self) -> usize {
        match self {
            Self::Cifar | Self::ImageNet => 4,
            Self::Dvs => 16,
        }
    }
}

/// A layer whose weights start at N(0, 0.02) and whose biases start at 0.
pub fn started(layer: Value) -> Value {
    with_init(layer, json!({"normal": 0.02}))
}

/// The linear layer of the classes.
pub fn classifier(classes: usize) -> Value {
    started(linear(classes))
}

/// `prefix` followed by a number, from the second on.
pub fn numbered(prefix: &str, k: usize) -> String {
    match k {
        0 => prefix.to_string(),
        k => format!("{prefix}{k}"),
    }
}

/// Blocks with a common name, and the probabilities that the branches of each are skipped in training.
pub fn blocks(name: &str, block: &[Value], skip: &[f64]) -> Value {
    let blocks = match skip.iter().all(|&p| p == 0.0) {
        true => json!({"layers": block, "repeat": skip.len()}),
        false => {
            let branches = |&p| block.iter().map(|b| skipped(b.clone(), p)).collect();
            group(skip.iter().map(|p| group(branches(p))).collect())
        }
    };
    named(name, blocks)
}

/// A block: attention and the two maps of a perceptron, each added to its input. `map` makes the layers of a map from its
/// number, 1 or 2, and its output channels.
pub fn block(
    attention: Value,
    [width, ratio]: [usize; 2],
    map: impl Fn(usize, usize) -> [Value; 3],
) -> [Value; 2] {
    let outputs = [width.saturating_mul(ratio), width];
    let maps = (1..).zip(outputs).flat_map(|(k, outputs)| map(k, outputs));
    [
        named("", residual(vec![attention], ["", ""])),
        named("", residual(maps.collect(), ["mlp", ""])),
    ]
}
