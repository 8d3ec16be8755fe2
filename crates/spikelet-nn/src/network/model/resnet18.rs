//! A pre-activation spiking ResNet-18 for small images.
//!
//! A block is s = LIF(BN(x)); y = Conv(LIF(BN(Conv(s)))) + shortcut(s), where the shortcut is a convolution of 1 × 1 if the
//! shape changes, and s itself otherwise. The last layer is linear: its mean over time gives the scores. Batch norm follows
//! every sum, so that biases of convolutions would cancel; there are none.
//!
//! Parameters are `conv.weight`, `stage1.0.norm.weight`, `stage1.0.residual.main.conv1.weight`, …, `fc.weight`, `fc.bias`.
//!
//! Sources: K. He et al., *Identity mappings in deep residual networks*, ECCV 2016; Q. Meng et al., *Towards memory- and
//! time-efficient backpropagation for training spiking neural networks*, ICCV 2023; Y. Huang et al., *CLIF: complementary
//! leaky integrate-and-fire neuron for spiking neural networks*, ICML 2024.

use super::layer::{fire, group, kaiming, linear, named, norm, plain, with};
use super::{Common, Family, Images, models};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of the network.
#[derive(Clone, Schema)]
pub(super) struct ResNet18 {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first stage; each of the following stages has twice as many.
    #[schema(at_least = 1)]
    channels: usize,
}

models! {
    "K. He et al., ECCV 2016; Q. Meng et al., ICCV 2023";
    "resnet18", "pre-activation ResNet-18 for CIFAR-10", ResNet18 {
        images: Images::new(3, 32), channels: 64, common: Common::new(10, json!({
            "neuron": "lif", "params": {"tau": 2.0, "decay_input": false, "v_reset": null},
            "surrogate": {"name": "rect", "alpha": 1.0},
        })),
    };
}

impl Family for ResNet18 {
    // Images are cropped after padding and flipped, and a square is cut out.
    fn settings(&self) -> &'static str {
        r#"
        encoder.name = "direct"
        data.augment = ["crop=4", "flip", "cutout=8"]
        loss = { name = "tet", label_smoothing = 0.1 }
        optimizer = { name = "sgd", momentum = 0.9, nesterov = true, weight_decay = 5e-4, bias_decay = false, lr = 0.1 }
        training.epochs = 100
    "#
    }

    fn layers(&self) -> Result<Vec<Value>> {
        self.images.size.halved(3)?;
        let mut layers = vec![named("conv", kaiming(self.channels, 3, 1))];
        for stage in 0..4 {
            let channels = self.channels.saturating_mul(1 << stage);
            let stride = if stage == 0 { 1 } else { 2 };
            let blocks = vec![block(channels, stride), block(channels, 1)];
            layers.push(named(&format!("stage{}", stage + 1), group(blocks)));
        }
        layers.extend([
            named("norm", norm()),
            named("spike", fire()),
            named("pool", json!({"adaptive-avg-pool": 1})),
            named("flatten", plain("flatten")),
            named("fc", linear(self.common.classes)),
        ]);
        Ok(layers)
    }
}

/// A block; the first of a stage with stride 2 has a convolution as its shortcut.
fn block(channels: usize, stride: usize) -> Value {
    let main = vec![
        named("conv1", kaiming(channels, 3, stride)),
        named("norm", norm()),
        named("spike", fire()),
        named("conv2", kaiming(channels, 3, 1)),
    ];
    let mut residual = named("residual", json!({"residual": main}));
    if stride != 1 {
        residual = with(residual, "shortcut", kaiming(channels, 1, stride));
    }
    group(vec![
        named("norm", norm()),
        named("spike", fire()),
        residual,
    ])
}
