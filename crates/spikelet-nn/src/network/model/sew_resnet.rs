//! SEW-ResNet: residual networks whose blocks join spikes element by element.
//!
//! Conv(7×7, stride 2) → BN → neuron → max pool → four stages with C, 2C, 4C and 8C channels → mean over the image →
//! Linear at each time step. A block is neuron(BN(Conv(…))) two or (bottleneck) three times, joined with its input, or with
//! neuron(BN(Conv(1×1))) of it where the shape changes. The neuron comes before the sum in both branches.
//!
//! Source: W. Fang et al., *Deep residual learning in spiking neural networks*, NeurIPS 2021.

use super::layer::{
    fire, group, head, joined, kaiming, linear, max_pool, named, norm, residual, stages, stem,
};
use super::stochastic_depth::{probabilities, skipped};
use super::{Common, Family, Images, bounded, models, neurons};
use crate::layer::Join;
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of a SEW-ResNet.
#[derive(Clone, Schema)]
pub(super) struct SewResNet {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first stage.
    #[schema(at_least = 1)]
    width: usize,
    /// Number of blocks of each stage.
    #[schema(at_least = 1)]
    blocks: [usize; 4],
    /// Whether a block has three convolutions.
    bottleneck: bool,
    /// Join of block and shortcut.
    connect: Join,
    /// Probability that the last block is skipped in training; that of the others grows evenly from 0.
    #[schema(from = 0.0, below = 1.0)]
    stochastic_depth: f64,
    /// Whether convolution and batch norm of the stem run once for an image, as the authors do, or at each step.
    static_stem: bool,
}

models! {
    "W. Fang et al., NeurIPS 2021";
    "sew-resnet18", "spike-element-wise ResNet-18 for ImageNet", SewResNet::new([2, 2, 2, 2], false);
    "sew-resnet34", "spike-element-wise ResNet-34 for ImageNet", SewResNet::new([3, 4, 6, 3], false);
    "sew-resnet50", "spike-element-wise ResNet-50 for ImageNet", SewResNet::new([3, 4, 6, 3], true);
    "sew-resnet101", "spike-element-wise ResNet-101 for ImageNet", SewResNet::new([3, 4, 23, 3], true);
    "sew-resnet152", "spike-element-wise ResNet-152 for ImageNet", SewResNet::new([3, 8, 36, 3], true);
}

impl SewResNet {
    fn new(blocks: [usize; 4], bottleneck: bool) -> Self {
        Self {
            images: Images::new(3, 224),
            common: Common::new(1000, neurons::integrate()),
            width: 64,
            blocks,
            bottleneck,
            connect: Join::Add,
            stochastic_depth: 0.0,
            static_stem: true,
        }
    }

    /// The channels behind a block.
    fn outputs(&self, planes: usize) -> usize {
        match self.bottleneck {
            true => planes.saturating_mul(4),
            false => planes,
        }
    }

    fn block(&self, inputs: usize, planes: usize, stride: usize) -> Value {
        let outputs = self.outputs(planes);
        let convs = match self.bottleneck {
            true => vec![(planes, 1, 1), (planes, 3, stride), (outputs, 1, 1)],
            false => vec![(planes, 3, stride), (outputs, 3, 1)],
        };
        let mut main = vec![];
        for (k, (outputs, kernel, stride)) in (1..).zip(convs) {
            main.push(named(&format!("conv{k}"), kaiming(outputs, kernel, stride)));
            main.push(named(&format!("bn{k}"), norm()));
            main.push(named(&format!("sn{k}"), fire()));
        }
        let mut block = residual(main, ["", ""]);
        if stride != 1 || inputs != outputs {
            block["shortcut"] = json!([
                named(
                    "downsample",
                    group(vec![kaiming(outputs, 1, stride), norm()])
                ),
                named("downsample_sn", fire()),
            ]);
        }
        joined(block, self.connect)
    }
}

impl Family for SewResNet {
    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&self.blocks, "blocks")?;
        let first = vec![
            named("conv1", kaiming(self.width, 7, 2)),
            named("bn1", norm()),
        ];
        let mut layers = vec![
            stem(first, self.static_stem),
            named("sn1", fire()),
            named("maxpool", max_pool()),
        ];
        let mut inputs = self.width;
        let mut skip = probabilities(self.stochastic_depth, self.blocks.iter().sum());
        layers.extend(stages(self.width, &self.blocks, |planes, stride| {
            let block = self.block(inputs, planes, stride);
            inputs = self.outputs(planes);
            skipped(block, skip.next().unwrap_or(0.0))
        }));
        layers.extend(head("fc", linear(self.common.classes)));
        Ok(layers)
    }
}
