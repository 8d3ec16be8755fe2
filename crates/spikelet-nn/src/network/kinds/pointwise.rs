//! `{ pointwise = 96, bias = true, weights = "conv1d" }`

use super::keys::{BIAS, BIAS_INIT, INIT, WEIGHTS, key};
use super::{Kind, MainValue};
use crate::layer::{Pointwise, WeightShape};
use crate::network::Layers;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;

pub(super) const POINTWISE: Kind = Kind {
    name: "pointwise",
    types: &["Pointwise"],
    summary: "the same linear map of the channels at each position",
    main: MainValue::Required(key!(channels: "integer", "the number of output channels")),
    keys: &[BIAS, WEIGHTS, INIT, BIAS_INIT],
    example: (&[4, 6, 6], "{ pointwise = 3 }"),
    build: |layer, b| {
        let outputs = layer.main()?.integer("pointwise", 1..=Layers::MAX_SIZE)?;
        let inputs = b.shape[0];
        let mut module = Pointwise::new(inputs, outputs);
        module.bias = layer.fields.flag("bias")?.unwrap_or(false);
        module.shape = weight_shape(layer)?.unwrap_or(module.shape);
        [module.weight_init, module.bias_init] = layer.inits(outputs)?;
        let weights = inputs.checked_mul(outputs);
        b.leaf("pointwise", module, weights, |elements| {
            elements.checked_mul(inputs)
        })
    },
};

/// The shape of weights, as of the layer of which they are in other programs.
pub(super) fn weight_shape(layer: &LayerFields<'_>) -> Result<Option<WeightShape>, Located> {
    let Some(node) = layer.fields.get("weights") else {
        return Ok(None);
    };
    let name = node.choice("weights", &["linear", "conv1d", "conv2d"])?;
    Ok(Some(match name {
        "linear" => WeightShape::Linear,
        "conv1d" => WeightShape::Conv1d,
        _ => WeightShape::Conv2d,
    }))
}
