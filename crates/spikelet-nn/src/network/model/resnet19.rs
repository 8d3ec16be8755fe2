//! ResNet-19 for CIFAR-10: wide residual blocks with few time steps.
//!
//! Conv(3×3) → BN → neuron → stages of 3, 3 and 2 blocks with C, 2C and 4C channels, the second and third with stride 2 →
//! mean over the image → Linear at each time step. A block is neuron(BN(Conv(neuron(BN(Conv(x))))) + shortcut), where the
//! shortcut is x, or BN(Conv(1×1)) of it where the shape changes.
//!
//! Sources: H. Zheng et al., *Going deeper with directly-trained larger spiking neural networks*, AAAI 2021; Y. Guo et al.,
//! *Membrane potential batch normalization for spiking neural networks*, ICCV 2023.

use super::layer::{fire, group, head, kaiming, linear, named, norm, residual, stages, stem};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Map, Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct ResNet19 {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first stage.
    #[schema(at_least = 1)]
    width: usize,
    /// Number of blocks of each stage.
    #[schema(at_least = 1)]
    blocks: [usize; 3],
    /// Batch norm behind the convolutions, such as `{ layer = "batch-norm", time_steps = 2 }`.
    norm: Map<String, Value>,
    /// Whether the first convolution runs once for an image.
    static_stem: bool,
}

models! {
    "H. Zheng et al., AAAI 2021; Y. Guo et al., ICCV 2023";
    "resnet19", "wide ResNet-19 for CIFAR-10", ResNet19 {
        images: Images::new(3, 32), common: Common::new(10, neurons::quarter()), width: 128, blocks: [3, 3, 2], norm: own_norm(), static_stem: true,
    };
}

/// The layer of [`norm`] as the default of an option.
fn own_norm() -> Map<String, Value> {
    norm().as_object().cloned().unwrap_or_default()
}

impl ResNet19 {
    fn block(&self, inputs: usize, outputs: usize, stride: usize) -> Value {
        let norm = || Value::Object(self.norm.clone());
        let main = vec![
            named("conv1", kaiming(outputs, 3, stride)),
            named("bn1", norm()),
            named("sn1", fire()),
            named("conv2", kaiming(outputs, 3, 1)),
            named("bn2", norm()),
        ];
        let mut sum = named("", residual(main, ["", "downsample"]));
        if stride != 1 || inputs != outputs {
            sum["shortcut"] = json!([kaiming(outputs, 1, stride), norm()]);
        }
        group(vec![sum, named("sn2", fire())])
    }
}

impl Family for ResNet19 {
    fn time_steps(&self) -> usize {
        2
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&self.blocks, "blocks")?;
        let first = vec![
            named("conv1", kaiming(self.width, 3, 1)),
            named("bn1", norm()),
        ];
        let mut layers = vec![stem(first, self.static_stem), named("sn1", fire())];
        let mut inputs = self.width;
        layers.extend(stages(self.width, &self.blocks, |outputs, stride| {
            let block = self.block(inputs, outputs, stride);
            inputs = outputs;
            block
        }));
        layers.extend(head("fc", linear(self.common.classes)));
        Ok(layers)
    }
}
