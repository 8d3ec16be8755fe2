//! A VGG for CIFAR10-DVS.
//!
//! Eight convolutions with bias, batch norm and neurons, average pools before three of them and behind the last, dropout and
//! Linear at each time step.
//!
//! Sources: S. Deng et al., *Temporal efficient training of spiking neural network via gradient re-weighting*, ICLR 2022; as
//! `CIFAR10DVSVGG` in an example of SpikingJelly 2.0.0.

use super::layer::{fire, group, kaiming, linear, named, norm, plain, with};
use super::{Common, Family, Images, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct Cifar10DvsVgg {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first convolution.
    #[schema(at_least = 1)]
    width: usize,
    /// Probability of dropout before the linear layer, drawn at each step.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
}

models! {
    "S. Deng et al., ICLR 2022; SpikingJelly";
    "cifar10-dvs-vgg", "VGG of eight convolutions for CIFAR10-DVS", Cifar10DvsVgg {
        images: Images::new(2, 48), common: Common::new(10, neurons::undecayed(1.333)), width: 64, dropout: 0.25,
    };
}

/// Whether a block begins with a pool, and the multiple of the width that it has.
const PLAN: [(bool, usize); 8] = [
    (false, 1),
    (false, 2),
    (true, 4),
    (false, 4),
    (true, 8),
    (false, 8),
    (true, 8),
    (false, 8),
];

impl Family for Cifar10DvsVgg {
    fn time_steps(&self) -> usize {
        10
    }

    fn layers(&self) -> Result<Vec<Value>> {
        let pool = json!({"avg-pool": 2});
        let block = |(pooled, times): (bool, usize)| {
            let conv = kaiming(self.width.saturating_mul(times), 3, 1);
            let conv = with(conv, "bias", json!(true));
            let mut parts = vec![conv, norm()];
            if pooled {
                parts.insert(0, pool.clone());
            }
            group(vec![
                named("proj_bn", group(parts)),
                named("neuron", fire()),
            ])
        };
        let mut features: Vec<Value> = PLAN.into_iter().map(block).collect();
        features.push(pool.clone());
        let dropout = json!({"dropout": self.dropout, "each_step": true});
        Ok(vec![
            named("features", group(features)),
            named("flatten", plain("flatten")),
            named(
                "classifier",
                group(vec![dropout, linear(self.common.classes)]),
            ),
        ])
    }
}
