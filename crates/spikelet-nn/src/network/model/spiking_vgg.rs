//! Spiking VGG-11 with batch norm.
//!
//! Eight convolutions with bias, batch norm and neurons, five max pools, an average to 7 × 7, and three linear layers.
//!
//! Sources: K. Simonyan, A. Zisserman, *Very deep convolutional networks for large-scale image recognition*, ICLR 2015; as
//! `spiking_vgg11_bn` in SpikingJelly 2.0.0.

use super::layer::{KAIMING, conv, fire, group, linear, named, norm, plain, with, with_init};
use super::{Common, Family, Images, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct SpikingVgg {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first convolution.
    #[schema(at_least = 1)]
    width: usize,
    /// Neurons of the two hidden layers.
    #[schema(at_least = 1)]
    hidden: usize,
    /// Probability of dropout behind hidden layers.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
}

models! {
    "K. Simonyan, A. Zisserman, ICLR 2015; SpikingJelly";
    "spiking-vgg11-bn", "VGG-11 with batch norm for ImageNet", SpikingVgg {
        images: Images::new(3, 224), common: Common::new(1000, neurons::integrate()), width: 64, hidden: 4096, dropout: 0.5,
    };
}

/// Multiples of the width of each convolution; 0 is a max pool.
const PLAN: [usize; 13] = [1, 0, 2, 0, 4, 4, 0, 8, 8, 0, 8, 8, 0];

impl Family for SpikingVgg {
    fn layers(&self) -> Result<Vec<Value>> {
        let mut features = vec![];
        for times in PLAN {
            if times == 0 {
                features.push(json!({"max-pool": 2}));
                continue;
            }
            let conv = with(
                conv(self.width.saturating_mul(times), 3, 1),
                "bias",
                json!(true),
            );
            features.extend([with_init(conv, KAIMING.into()), norm(), fire()]);
        }
        let linear = |outputs| with_init(linear(outputs), json!({"normal": 0.01}));
        let dropout = json!({"dropout": self.dropout});
        let classifier = vec![
            linear(self.hidden),
            fire(),
            dropout.clone(),
            linear(self.hidden),
            fire(),
            dropout,
            linear(self.common.classes),
        ];
        Ok(vec![
            named("features", group(features)),
            named("avgpool", json!({"adaptive-avg-pool": 7})),
            named("flatten", plain("flatten")),
            named("classifier", group(classifier)),
        ])
    }
}
