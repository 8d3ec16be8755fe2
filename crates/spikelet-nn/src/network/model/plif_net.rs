//! The network of the PLIF paper for MNIST and Fashion-MNIST with average pooling, which is in the paper's ablations.
//!
//! The image is constant over time, so the layers before the first neuron are computed once. The means of the firing rates of
//! each class are the scores. Nothing has a bias.
//!
//! Parameters are `static_conv.0.weight`, `static_conv.1.weight`, …, `conv.0.w`, ….

use super::csnn::convolutions;
use super::layer::{fire, group, named, unbiased};
use super::{Common, Family, Images, hidden_or_wide, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct PlifNet {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the convolutions.
    #[schema(at_least = 1)]
    channels: usize,
    /// Neurons of the hidden layer; 0: 16 times the channels.
    hidden: usize,
    /// Output neurons of each class.
    #[schema(at_least = 1)]
    votes: usize,
    /// Probability of dropout before linear layers.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
}

models! {
    "W. Fang et al., ICCV 2021";
    "plif-net", "network of two convolutions with average pooling", PlifNet {
        images: Images::new(1, 28), common: Common::new(10, neurons::parametric()),
        channels: 128, hidden: 0, votes: 10, dropout: 0.5,
    };
}

impl Family for PlifNet {
    fn settings(&self) -> &'static str {
        r#"
        encoder.name = "direct"
        training.epochs = 50
    "#
    }

    fn time_steps(&self) -> usize {
        8
    }

    fn layers(&self) -> Result<Vec<Value>> {
        self.images.size.halved(2)?;
        let dropout = || json!({"dropout": self.dropout});
        let linears = vec![
            dropout(),
            unbiased(hidden_or_wide(self.hidden, self.channels)),
            fire(),
            dropout(),
            unbiased(self.common.classes.saturating_mul(self.votes)),
            fire(),
            json!({"voting": self.votes}),
        ];
        let mut layers = convolutions(self.channels, json!({"avg-pool": 2}));
        layers.push(named("fc", group(linears)));
        Ok(layers)
    }
}
