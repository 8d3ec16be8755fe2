//! The network of the PLIF paper for MNIST and Fashion-MNIST with average pooling, which is in the paper's ablations.
//!
//! The image is constant over time, so the layers before the first neuron are computed once. The means of the firing rates of
//! each class are the scores. Nothing has a bias.
//!
//! Parameters are `static_conv.0.weight`, `static_conv.1.weight`, …, `conv.0.w`, ….

use super::csnn::convolutions;
use super::layer::{fire, group, named};
use super::{CHANNELS, DROPOUT, Family, HIDDEN, ImageSize, hidden_or_wide, models, neurons};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

#[derive(Serialize, Deserialize)]
pub(super) struct PlifNet {
    inputs: usize,
    size: ImageSize,
    classes: usize,
    neuron: Value,
    channels: usize,
    hidden: usize,
    votes: usize,
    dropout: f64,
}

models! {
    "W. Fang et al., ICCV 2021";
    "plif-net", "network of two convolutions with average pooling", PlifNet {
        inputs: 1, size: 28.into(), classes: 10, channels: 128, hidden: 0, votes: 10, dropout: 0.5,
        neuron: neurons::parametric(),
    };
}

impl Family for PlifNet {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        CHANNELS,
        HIDDEN,
        ("votes", "output neurons of each class"),
        DROPOUT,
    ];
    const SETTINGS: &'static str = r#"
        encoder.name = "direct"
        training.epochs = 50
    "#;

    fn time_steps(&self) -> usize {
        8
    }

    fn layers(&self) -> Result<Vec<Value>> {
        self.size.halved(2)?;
        let dropout = || json!({"dropout": self.dropout});
        let linears = vec![
            dropout(),
            json!({"linear": hidden_or_wide(self.hidden, self.channels)}),
            fire(),
            dropout(),
            json!({"linear": self.classes.saturating_mul(self.votes)}),
            fire(),
            json!({"voting": self.votes}),
        ];
        let mut layers = convolutions(self.channels, json!({"avg-pool": 2}));
        layers.push(named("fc", group(linears)));
        Ok(layers)
    }
}
