//! `{ linear = 10, bias = true }`. `inputs` is the expected number of input features.

use super::keys::{BIAS, BIAS_INIT, INIT, INPUTS, key};
use super::{Kind, MainValue};
use crate::layer::Linear;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;

pub(super) const LINEAR: Kind = Kind {
    name: "linear",
    types: &["Linear"],
    summary: "fully connected layer",
    main: MainValue::Required(key!(out_features: "integer", "the number of output features")),
    keys: &[INPUTS, BIAS, INIT, BIAS_INIT],
    example: (&[8], "{ linear = 6, bias = true }"),
    build: |layer, b| {
        let module = linear(layer, b)?;
        let weights = module.inputs.checked_mul(module.outputs);
        b.leaf("linear", module, weights, |_| weights)
    },
};

/// The layer for the current input.
pub(super) fn linear(layer: &LayerFields<'_>, b: &Builder) -> Result<Linear, Located> {
    let outputs = layer.main()?.integer("linear", 1..=Layers::MAX_SIZE)?;
    let [inputs] = b.shape[..] else {
        return Err(b.wrong_axes("linear", "[features]"));
    };
    layer.expect_inputs(inputs)?;
    let bias = layer.fields.flag("bias")?.unwrap_or(false);
    let mut module = Linear::new(inputs, outputs).bias(bias);
    [module.weight_init, module.bias_init] = layer.inits(outputs)?;
    Ok(module)
}
