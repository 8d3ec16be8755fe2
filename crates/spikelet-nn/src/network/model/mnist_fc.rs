//! The fully connected network of SpikingFlow's MNIST tutorial: two linear layers without bias, each followed by a neuron. The
//! firing rates of the last layer are the scores.
//!
//! Parameters are `fc.1.weight` and `fc.3.weight`.

use super::layer::{fire, group, named, plain};
use super::{Family, models};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use spikelet_core::Result;

#[derive(Serialize, Deserialize)]
pub(super) struct MnistFc {
    inputs: usize,
    classes: usize,
    neuron: Value,
    hidden: usize,
}

models! {
    "SpikingFlow, MNIST tutorial";
    "mnist-fc", "network of two linear layers", MnistFc {
        inputs: 784, classes: 10, hidden: 196, neuron: json!({
            "neuron": "lif", "params": {"tau": 4.0, "decay_input": false, "v_reset": null}, "surrogate": "atan",
        }),
    };
}

impl Family for MnistFc {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        ("inputs", "pixels of an image"),
        ("hidden", "neurons of the hidden layer"),
    ];
    const SETTINGS: &'static str = "";

    fn time_steps(&self) -> usize {
        8
    }

    fn image(options: &Map<String, Value>) -> [usize; 3] {
        [1, 28, super::number(options, "inputs").div_ceil(28)]
    }

    fn layers(&self) -> Result<Vec<Value>> {
        let linear = |outputs: usize| json!({"linear": outputs});
        let layers = vec![
            plain("flatten"),
            linear(self.hidden),
            fire(),
            linear(self.classes),
            fire(),
        ];
        Ok(vec![named("fc", group(layers))])
    }
}
