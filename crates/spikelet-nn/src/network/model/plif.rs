//! The networks of the PLIF paper for event frames and CIFAR-10. Those for MNIST and Fashion-MNIST are `plif-net`.
//!
//! Convolutions with batch norm, neurons with a trained time constant and max pools, then two linear layers; the mean of ten
//! output neurons is a class's score. Nothing has a bias.
//!
//! Source: W. Fang et al., *Incorporating learnable membrane time constant to enhance learning of spiking neural networks*,
//! ICCV 2021.

use super::layer::{conv, fire, group, named, norm, plain};
use super::{Family, bounded, models, neurons};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

/// The votes for a class.
const VOTES: usize = 10;

#[derive(Serialize, Deserialize)]
pub(super) struct PlifFrames {
    inputs: usize,
    size: usize,
    classes: usize,
    neuron: Value,
    channels: usize,
    depth: usize,
    dropout: f64,
    each_step: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PlifImages {
    inputs: usize,
    size: usize,
    classes: usize,
    neuron: Value,
    channels: usize,
    hidden: usize,
    dropout: f64,
    each_step: bool,
}

models! {
    "W. Fang et al., ICCV 2021";
    "plif-dvs-gesture", "network of five convolutions for DVS Gesture", PlifFrames::new(5, 11);
    "plif-cifar10-dvs", "network of four convolutions for CIFAR10-DVS", PlifFrames::new(4, 10);
    "plif-cifar10", "network of six convolutions for CIFAR-10", PlifImages {
        inputs: 3, size: 32, classes: 10, neuron: neurons::parametric(), channels: 256, hidden: 2048, dropout: 0.5, each_step: false,
    };
}

impl PlifFrames {
    fn new(depth: usize, classes: usize) -> Self {
        Self {
            inputs: 2,
            size: 128,
            classes,
            neuron: neurons::parametric(),
            channels: 128,
            depth,
            dropout: 0.5,
            each_step: false,
        }
    }
}

const CHANNELS: (&str, &str) = ("channels", "channels of the convolutions");
const DROPOUT: (&str, &str) = ("dropout", "probability of dropout before linear layers");
const EACH_STEP: (&str, &str) = (
    "each_step",
    "whether batch norm measures each time step by itself, as the authors' program does",
);

/// Batch norm, of each step or of all.
fn measured(each_step: bool) -> Value {
    json!({"layer": "batch-norm", "each_step": each_step})
}

fn linear(outputs: usize) -> Value {
    json!({"linear": outputs})
}

fn pool() -> Value {
    json!({"max-pool": 2})
}

fn vote() -> Value {
    named("vote", json!({"voting": VOTES}))
}

impl Family for PlifFrames {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        CHANNELS,
        ("depth", "number of convolutions"),
        DROPOUT,
        EACH_STEP,
    ];

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.depth], "depth")?;
        let block = [
            conv(self.channels, 3, 1),
            measured(self.each_step),
            fire(),
            pool(),
        ];
        let convs = (0..self.depth).flat_map(|_| block.clone()).collect();
        let side = self
            .size
            .checked_shr(u32::try_from(self.depth).unwrap_or(u32::MAX));
        let side = side.unwrap_or(0);
        let features = self.channels.saturating_mul(side).saturating_mul(side);
        let dropout = json!({"dropout": self.dropout});
        let linears = vec![
            plain("flatten"),
            dropout.clone(),
            linear(features / 4),
            fire(),
            dropout,
            linear(self.classes.saturating_mul(VOTES)),
            fire(),
        ];
        Ok(vec![
            named("conv", group(convs)),
            named("fc", group(linears)),
            vote(),
        ])
    }
}

impl Family for PlifImages {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        CHANNELS,
        ("hidden", "neurons of the hidden layer"),
        DROPOUT,
        EACH_STEP,
    ];

    fn layers(&self) -> Result<Vec<Value>> {
        let first = vec![conv(self.channels, 3, 1), norm()];
        let mut convs = vec![fire()];
        for pooled in [false, true, false, false, true] {
            convs.extend([conv(self.channels, 3, 1), measured(self.each_step), fire()]);
            convs.extend(pooled.then(pool));
        }
        let linears = vec![
            plain("flatten"),
            json!({"dropout": self.dropout}),
            linear(self.hidden),
            fire(),
            linear(self.classes.saturating_mul(VOTES)),
            fire(),
        ];
        Ok(vec![
            json!({"name": "static_conv", "static": first}),
            named("conv", group(convs)),
            named("fc", group(linears)),
            vote(),
        ])
    }
}
