//! `{ linear = 10, bias = true }`. `inputs` is the expected number of input features.

use super::{Kind, MainValue};
use crate::layer::Linear;
use crate::network::Layers;

pub(super) const LINEAR: Kind = Kind {
    name: "linear",
    summary: "fully connected layer",
    main: MainValue::Required("the number of output features"),
    keys: &["inputs", "bias", "init", "bias_init"],
    build: |layer, b| {
        let outputs = layer.main()?.integer("linear", 1..=Layers::MAX_SIZE)?;
        let [inputs] = b.shape[..] else {
            return Err(b.wrong_axes("linear", "[features]"));
        };
        layer.expect_inputs(inputs)?;
        let bias = layer.fields.flag("bias")?.unwrap_or(false);
        let mut module = Linear::new(inputs, outputs).bias(bias);
        [module.weight_init, module.bias_init] = layer.inits(outputs)?;
        let weights = inputs.checked_mul(outputs);
        b.leaf("linear", module, weights, |_| weights)
    },
};
