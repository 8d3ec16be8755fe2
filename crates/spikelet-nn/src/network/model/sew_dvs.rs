//! The SEW-ResNets for event frames: 7B-Net (DVS Gesture) and Wide-7B-Net (CIFAR10-DVS).
//!
//! Seven blocks of two units, each Conv(3×3) → BN → neuron, joined with the block's input and followed by a max pool; a unit
//! with Conv(1×1) where the channels change; Linear at each time step.
//!
//! Source: W. Fang et al., *Deep residual learning in spiking neural networks*, NeurIPS 2021.

use super::layer::{conv, fire, group, joined, linear, named, norm, plain, residual};
use super::{Common, Family, Images, bounded, models, neurons};
use crate::layer::Join;
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_schema::Schema;

/// The options of a network for event frames.
#[derive(Clone, Schema)]
pub(super) struct SewDvsNet {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of each block.
    #[schema(at_least = 1)]
    channels: Vec<usize>,
    /// Window of the max pool behind each block, or 0 for none.
    pools: Vec<usize>,
    /// Join of block and shortcut.
    connect: Join,
}

models! {
    "W. Fang et al., NeurIPS 2021";
    "sew-7b-net", "spike-element-wise network of seven blocks for DVS Gesture", SewDvsNet::new(vec![32; 7], 11);
    "sew-wide-7b-net", "spike-element-wise network of seven blocks for CIFAR10-DVS", SewDvsNet::new(vec![64, 64, 64, 64, 128, 128, 128], 10);
}

impl SewDvsNet {
    fn new(channels: Vec<usize>, classes: usize) -> Self {
        Self {
            images: Images::new(2, 128),
            common: Common::new(classes, neurons::parametric()),
            pools: vec![2; channels.len()],
            channels,
            connect: Join::Add,
        }
    }
}

fn unit(outputs: usize, kernel: usize) -> Value {
    let module = group(vec![conv(outputs, kernel, 1), norm()]);
    group(vec![
        named("0", group(vec![named("module", module)])),
        named("1", fire()),
    ])
}

impl Family for SewDvsNet {
    fn time_steps(&self) -> usize {
        16
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.channels.len()], "channels")?;
        if self.channels.len() != self.pools.len() {
            return Err(Error::invalid(
                "`pools` and `channels`",
                format!(
                    "{} blocks have {} pools",
                    self.channels.len(),
                    self.pools.len()
                ),
                "give one for each block, 0 for none",
            ));
        }
        let (mut parts, mut inputs) = (vec![], self.images.inputs);
        for (&outputs, &pool) in self.channels.iter().zip(&self.pools) {
            if inputs != outputs {
                parts.push(unit(outputs, 1));
            }
            let units = vec![unit(outputs, 3), unit(outputs, 3)];
            parts.push(joined(residual(units, ["conv", ""]), self.connect));
            if pool > 0 {
                // Behind the name of the authors' container.
                parts.push(json!({"max-pool": pool}));
            }
            inputs = outputs;
        }
        parts.push(plain("flatten"));
        Ok(vec![
            named("conv", group(parts)),
            named("out", linear(self.common.classes)),
        ])
    }
}
