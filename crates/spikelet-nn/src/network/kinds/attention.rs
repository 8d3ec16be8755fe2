//! `{ self-attention = 12, scale = 0.125, product_neuron = { name = "lif", v_threshold = 0.5 } }`, `{ token-attention = 8 }`,
//! `{ spike-driven-attention = 8, filters = true }`. The value is the number of heads.

use super::keys::{BIAS, BIAS_INIT, INIT, MOMENTUM, PRODUCT_NEURON, WEIGHTS, key};
use super::pointwise::weight_shape;
use super::{Kind, MainValue};
use crate::layer::{AttentionParts, SelfAttention, SpikeDrivenAttention, TokenAttention};
use crate::module::Module;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;
use std::sync::Arc;

const HEADS: MainValue = MainValue::Required(key!(heads: "integer", "the number of heads"));

/// A kind's own keys, and those of all kinds of attention.
macro_rules! keys {
    ($($own:expr),*) => {
        &[$($own,)* PRODUCT_NEURON, BIAS, WEIGHTS, INIT, BIAS_INIT, MOMENTUM]
    };
}

pub(super) const SELF_ATTENTION: Kind = Kind {
    name: "self-attention",
    types: &["SelfAttention"],
    summary: "spiking self attention between the positions of a map",
    main: HEADS,
    keys: keys![
        key!(scale: "number" = "0.125", "the factor of the products"),
        key!(state_across_samples: "flag" = "false", "whether states of neurons are carried from sample to sample, as in some programs")
    ],
    example: (&[4, 6, 6], "{ self-attention = 2 }"),
    build: |layer, b| {
        let mut module = SelfAttention::new(parts(layer, b)?);
        if let Some(scale) = layer.fields.number("scale")? {
            module = module.scale(scale);
        }
        if let Some(yes) = layer.fields.flag("state_across_samples")? {
            module = module.state_across_samples(yes);
        }
        let (channels, tokens) = (b.shape[0], b.shape[1..].iter().product::<usize>());
        let head = channels / layer.main()?.integer("self-attention", 1..=channels)?;
        let products = head.min(tokens).saturating_mul(2);
        leaf(layer, b, module, 4, products)
    },
};

pub(super) const TOKEN_ATTENTION: Kind = Kind {
    name: "token-attention",
    types: &["TokenAttention"],
    summary: "attention of positions by the spikes of their queries",
    main: HEADS,
    keys: keys![],
    example: (&[4, 6, 6], "{ token-attention = 2 }"),
    build: |layer, b| {
        let module = TokenAttention::new(parts(layer, b)?);
        leaf(layer, b, module, 3, 0)
    },
};

pub(super) const SPIKE_DRIVEN_ATTENTION: Kind = Kind {
    name: "spike-driven-attention",
    types: &["SpikeDrivenAttention"],
    summary: "attention of potentials by sums of spikes",
    main: HEADS,
    keys: keys![key!(filters: "flag" = "false", "whether values are filtered by spikes")],
    example: (&[4, 6, 6], "{ spike-driven-attention = 2 }"),
    build: |layer, b| {
        let mut module = SpikeDrivenAttention::new(parts(layer, b)?);
        if let Some(yes) = layer.fields.flag("filters")? {
            module = module.filters(yes);
        }
        leaf(layer, b, module, 4, 0)
    },
};

/// Adds an attention with so many `maps` of all channels, and `products` beside them for each element of its output.
fn leaf(
    layer: &LayerFields<'_>,
    b: &mut Builder,
    module: impl Module + 'static,
    maps: usize,
    products: usize,
) -> Result<Arc<dyn Module>, Located> {
    let of_maps = b.shape[0].checked_mul(maps);
    let weights = of_maps.and_then(|n| n.checked_mul(b.shape[0]));
    b.leaf(layer.kind.name, module, weights, |elements| {
        elements.checked_mul(of_maps?.checked_add(products)?)
    })
}

fn parts(layer: &LayerFields<'_>, b: &Builder) -> Result<AttentionParts, Located> {
    let name = layer.kind.name;
    b.spatial_axes(name)?;
    let heads = layer.main()?.integer(name, 1..=Layers::MAX_SIZE)?;
    let channels = b.shape[0];
    let product_neuron = b.neuron_of(layer.fields.get("product_neuron"))?;
    let mut parts = AttentionParts::new(channels, heads, b.neuron.clone(), product_neuron);
    parts.bias = layer.fields.flag("bias")?.unwrap_or(false);
    parts.momentum = layer.fields.number("momentum")?.unwrap_or(parts.momentum);
    parts.shape = weight_shape(layer)?.unwrap_or(parts.shape);
    [parts.weight_init, parts.bias_init] = layer.inits(channels)?;
    Ok(parts)
}
