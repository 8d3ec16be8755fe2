//! The convolutional network of SpikingFlow's CIFAR-10 tutorial.
//!
//! Three times: convolution, batch norm, neuron, convolution, max pool, batch norm, neuron; then a linear layer and a neuron,
//! whose firing rates are the scores.
//!
//! Parameters are `conv.0.weight`, `conv.0.bias`, ….

use super::layer::{conv, fire, group, named, norm, plain, unbiased, with};
use super::{Common, Family, Images, models};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct Cifar10Net {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the convolutions.
    #[schema(at_least = 1)]
    channels: usize,
    /// Whether convolutions have a bias, which batch norm cancels.
    bias: bool,
}

models! {
    "SpikingFlow, CIFAR-10 tutorial";
    "cifar10-net", "network of six convolutions", Cifar10Net {
        images: Images::new(3, 32), channels: 256, bias: true, common: Common::new(10, json!({
            "neuron": "lif", "params": {"tau": 2.0, "decay_input": false}, "surrogate": {"name": "atan", "alpha": 2.0},
        })),
    };
}

impl Family for Cifar10Net {
    fn settings(&self) -> &'static str {
        r#"
        encoder.name = "direct"
        optimizer.lr = 1e-3
        training.epochs = 30
    "#
    }

    fn layers(&self) -> Result<Vec<Value>> {
        self.images.size.halved(3)?;
        let conv = || with(conv(self.channels, 3, 1), "bias", self.bias.into());
        let stage = || {
            let pool = json!({"max-pool": 2});
            [conv(), norm(), fire(), conv(), pool, norm(), fire()]
        };
        let convs = (0..3).flat_map(|_| stage()).collect();
        let linears = vec![plain("flatten"), unbiased(self.common.classes), fire()];
        Ok(vec![
            named("conv", group(convs)),
            named("fc", group(linears)),
        ])
    }
}
