//! The convolutional network of SpikingFlow's CIFAR-10 tutorial.
//!
//! Three times: convolution, batch norm, neuron, convolution, max pool, batch norm, neuron; then a linear layer and a neuron,
//! whose firing rates are the scores.
//!
//! Parameters are `conv.0.weight`, `conv.0.bias`, ….

use super::layer::{conv, fire, group, named, norm, plain, with};
use super::{CHANNELS, Family, ImageSize, models};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

#[derive(Serialize, Deserialize)]
pub(super) struct Cifar10Net {
    inputs: usize,
    size: ImageSize,
    classes: usize,
    neuron: Value,
    channels: usize,
    bias: bool,
}

models! {
    "SpikingFlow, CIFAR-10 tutorial";
    "cifar10-net", "network of six convolutions", Cifar10Net {
        inputs: 3, size: 32.into(), classes: 10, channels: 256, bias: true, neuron: json!({
            "neuron": "lif", "params": {"tau": 2.0, "decay_input": false}, "surrogate": {"name": "atan", "alpha": 2.0},
        }),
    };
}

impl Family for Cifar10Net {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        CHANNELS,
        (
            "bias",
            "whether convolutions have a bias, which batch norm cancels",
        ),
    ];
    const SETTINGS: &'static str = r#"
        encoder.name = "direct"
        optimizer.lr = 1e-3
        training.epochs = 30
    "#;

    fn layers(&self) -> Result<Vec<Value>> {
        self.size.halved(3)?;
        let conv = || with(conv(self.channels, 3, 1), "bias", self.bias.into());
        let stage = || {
            let pool = json!({"max-pool": 2});
            [conv(), norm(), fire(), conv(), pool, norm(), fire()]
        };
        let convs = (0..3).flat_map(|_| stage()).collect();
        let linears = vec![plain("flatten"), json!({"linear": self.classes}), fire()];
        Ok(vec![
            named("conv", group(convs)),
            named("fc", group(linears)),
        ])
    }
}
