//! The convolutional network of SpikingJelly's Fashion-MNIST tutorial.
//!
//! Two convolutions and two linear layers without bias, each followed by a neuron. The image is constant over time, so what
//! comes before the first neuron is computed once. The firing rates of the last layer are the scores.
//!
//! Parameters are `static_conv.0.weight`, `static_conv.1.weight`, ….

use super::layer::{conv, fire, group, named, norm, once, plain, unbiased};
use super::{Common, Family, Images, hidden_or_wide, models};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct Csnn {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the convolutions.
    #[schema(at_least = 1)]
    channels: usize,
    /// Neurons of the hidden layer; 0: 16 times the channels.
    hidden: usize,
}

models! {
    "SpikingJelly, Fashion-MNIST tutorial";
    "csnn", "network of two convolutions", Csnn {
        images: Images::new(1, 28), channels: 128, hidden: 0,
        common: Common::new(10, json!({"neuron": "if", "params": {}, "surrogate": {"name": "atan", "alpha": 2.0}})),
    };
}

impl Family for Csnn {
    fn settings(&self) -> &'static str {
        r#"
        encoder.name = "direct"
        optimizer = { name = "sgd", momentum = 0.9, lr = 0.1 }
        training.epochs = 64
    "#
    }

    fn layers(&self) -> Result<Vec<Value>> {
        self.images.size.halved(2)?;
        let linears = vec![
            unbiased(hidden_or_wide(self.hidden, self.channels)),
            fire(),
            unbiased(self.common.classes),
            fire(),
        ];
        let mut layers = convolutions(self.channels, json!({"max-pool": 2}));
        layers.push(named("fc", group(linears)));
        Ok(layers)
    }
}

/// Two convolutions with batch norm, neurons and pools. The first runs once for an image.
pub(super) fn convolutions(channels: usize, pool: Value) -> Vec<Value> {
    let conv = || [conv(channels, 3, 1), norm()];
    let fired = || [fire(), pool.clone()];
    let rest = fired().into_iter().chain(conv()).chain(fired());
    let rest = rest.chain([plain("flatten")]).collect();
    vec![
        once("static_conv", conv().to_vec()),
        named("conv", group(rest)),
    ]
}
