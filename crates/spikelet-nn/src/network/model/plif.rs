//! The networks of the PLIF paper. That for MNIST and Fashion-MNIST is `plif-net` too, with other names of its parameters.
//!
//! Convolutions with batch norm, neurons with a trained time constant and max pools, then two linear layers; the mean of ten
//! output neurons is a class's score. Nothing has a bias.
//!
//! Source: W. Fang et al., *Incorporating learnable membrane time constant to enhance learning of spiking neural networks*,
//! ICCV 2021.

use super::layer::{conv, fire, group, named, norm, once, plain, unbiased};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The votes for a class.
const VOTES: usize = 10;

/// The options of a network for event frames.
#[derive(Clone, Schema)]
pub(super) struct PlifFrames {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the convolutions.
    #[schema(at_least = 1)]
    channels: usize,
    /// Number of convolutions.
    #[schema(at_least = 1)]
    depth: usize,
    /// Probability of dropout before linear layers.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
    /// Whether batch norm measures each time step by itself, as the authors' program does.
    each_step: bool,
}

/// The options of a network for images.
#[derive(Clone, Schema)]
pub(super) struct PlifImages {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the convolutions.
    #[schema(at_least = 1)]
    channels: usize,
    /// Neurons of the hidden layer.
    #[schema(at_least = 1)]
    hidden: usize,
    /// Whether a max pool follows each convolution.
    pools: Vec<bool>,
    /// Probability of dropout before linear layers.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
    /// Whether dropout is before the last linear layer too.
    dropout_before_output: bool,
    /// Whether batch norm measures each time step by itself, as the authors' program does.
    each_step: bool,
}

models! {
    "W. Fang et al., ICCV 2021";
    "plif-dvs-gesture", "network of five convolutions for DVS Gesture", PlifFrames::new(5, 11);
    "plif-cifar10-dvs", "network of four convolutions for CIFAR10-DVS", PlifFrames::new(4, 10);
    "plif-cifar10", "network of six convolutions for CIFAR-10", PlifImages::new([3, 32, 256], &[false, false, true, false, false, true]);
    "plif-fashion", "network of two convolutions for MNIST and Fashion-MNIST", PlifImages {
        dropout_before_output: true, ..PlifImages::new([1, 28, 128], &[true, true])
    };
}

impl PlifFrames {
    fn new(depth: usize, classes: usize) -> Self {
        Self {
            images: Images::new(2, 128),
            common: Common::new(classes, neurons::parametric()),
            channels: 128,
            depth,
            dropout: 0.5,
            each_step: false,
        }
    }
}

impl PlifImages {
    fn new([inputs, size, channels]: [usize; 3], pools: &[bool]) -> Self {
        Self {
            images: Images::new(inputs, size),
            common: Common::new(10, neurons::parametric()),
            channels,
            hidden: 2048,
            pools: pools.to_vec(),
            dropout: 0.5,
            dropout_before_output: false,
            each_step: false,
        }
    }
}

/// Batch norm, of each step or of all.
fn measured(each_step: bool) -> Value {
    json!({"layer": "batch-norm", "each_step": each_step})
}

fn pool() -> Value {
    json!({"max-pool": 2})
}

fn vote() -> Value {
    named("vote", json!({"voting": VOTES}))
}

impl Family for PlifFrames {
    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.depth], "depth")?;
        let block = [
            conv(self.channels, 3, 1),
            measured(self.each_step),
            fire(),
            pool(),
        ];
        let convs = (0..self.depth).flat_map(|_| block.clone()).collect();
        let depth = u32::try_from(self.depth).unwrap_or(u32::MAX);
        let [height, width] = self.images.size.halved(depth)?;
        let features = self.channels.saturating_mul(height).saturating_mul(width);
        let dropout = json!({"dropout": self.dropout});
        let linears = vec![
            plain("flatten"),
            dropout.clone(),
            unbiased(features / 4),
            fire(),
            dropout,
            unbiased(self.common.classes.saturating_mul(VOTES)),
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
    fn time_steps(&self) -> usize {
        8
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.pools.len()], "pools")?;
        let first = vec![conv(self.channels, 3, 1), norm()];
        let mut convs = vec![];
        for (k, &pooled) in self.pools.iter().enumerate() {
            if k > 0 {
                convs.extend([conv(self.channels, 3, 1), measured(self.each_step)]);
            }
            convs.push(fire());
            convs.extend(pooled.then(pool));
        }
        let dropout = json!({"dropout": self.dropout});
        let mut linears = vec![
            plain("flatten"),
            dropout.clone(),
            unbiased(self.hidden),
            fire(),
        ];
        linears.extend(self.dropout_before_output.then_some(dropout));
        linears.extend([unbiased(self.common.classes.saturating_mul(VOTES)), fire()]);
        Ok(vec![
            once("static_conv", first),
            named("conv", group(convs)),
            named("fc", group(linears)),
            vote(),
        ])
    }
}
