//! The fully connected network of SpikingFlow's MNIST tutorial: two linear layers without bias, each followed by a neuron. The
//! firing rates of the last layer are the scores.
//!
//! Parameters are `fc.1.weight` and `fc.3.weight`.

use super::layer::{fire, group, named, plain, unbiased};
use super::{Common, Family, models};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct MnistFc {
    /// Pixels of an image.
    #[schema(at_least = 1)]
    inputs: usize,
    #[schema(flatten)]
    common: Common,
    /// Neurons of the hidden layer.
    #[schema(at_least = 1)]
    hidden: usize,
}

models! {
    "SpikingFlow, MNIST tutorial";
    "mnist-fc", "network of two linear layers", MnistFc {
        inputs: 784, hidden: 196, common: Common::new(10, json!({
            "neuron": "lif", "params": {"tau": 4.0, "decay_input": false, "v_reset": null}, "surrogate": "atan",
        })),
    };
}

impl Family for MnistFc {
    fn settings(&self) -> &'static str {
        ""
    }

    fn time_steps(&self) -> usize {
        8
    }

    fn image(&self) -> [usize; 3] {
        [1, 28, self.inputs.div_ceil(28)]
    }

    fn layers(&self) -> Result<Vec<Value>> {
        let layers = vec![
            plain("flatten"),
            unbiased(self.hidden),
            fire(),
            unbiased(self.common.classes),
            fire(),
        ];
        Ok(vec![named("fc", group(layers))])
    }
}
