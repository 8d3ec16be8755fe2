//! `{ self-attention = 12, scale = 0.125, product_neuron = { name = "lif", v_threshold = 0.5 } }`, `{ token-attention = 8 }`,
//! `{ spike-driven-attention = 8, filters = true }`. The value is the number of heads.

use super::pointwise::weight_shape;
use super::{Kind, MainValue};
use crate::layer::{AttentionParts, SelfAttention, SpikeDrivenAttention, TokenAttention};
use crate::network::Layers;
use crate::network::build::{Builder, LayerFields};
use spikelet_core::document::Located;

const HEADS: MainValue = MainValue::Required("the number of heads");

pub(super) const SELF_ATTENTION: Kind = Kind {
    name: "self-attention",
    summary: "spiking self attention between the positions of a map",
    main: HEADS,
    keys: &[
        "scale",
        "product_neuron",
        "bias",
        "weights",
        "init",
        "bias_init",
        "momentum",
        "state_across_samples",
    ],
    is_group: false,
    build: |layer, b| {
        let parts = parts(layer, b)?;
        let mut module = SelfAttention::new(parts);
        if let Some(scale) = layer.fields.number("scale")? {
            module = module.scale(scale);
        }
        if let Some(yes) = layer.fields.flag("state_across_samples")? {
            module = module.state_across_samples(yes);
        }
        let (channels, tokens) = sizes(b);
        let head = channels / layer.main()?.integer("self-attention", 1..=channels)?;
        let product = head.min(tokens).checked_mul(2);
        let macs = |elements: usize| {
            let maps = elements.checked_mul(channels)?.checked_mul(4)?;
            maps.checked_add(elements.checked_mul(product?)?)
        };
        b.leaf("self-attention", module, weights(channels, 4), macs)
    },
};

pub(super) const TOKEN_ATTENTION: Kind = Kind {
    name: "token-attention",
    summary: "attention of positions by the spikes of their queries",
    main: HEADS,
    keys: &[
        "product_neuron",
        "bias",
        "weights",
        "init",
        "bias_init",
        "momentum",
    ],
    is_group: false,
    build: |layer, b| {
        let module = TokenAttention::new(parts(layer, b)?);
        let (channels, _) = sizes(b);
        b.leaf(
            "token-attention",
            module,
            weights(channels, 3),
            |elements| elements.checked_mul(channels)?.checked_mul(3),
        )
    },
};

pub(super) const SPIKE_DRIVEN_ATTENTION: Kind = Kind {
    name: "spike-driven-attention",
    summary: "attention of potentials by sums of spikes",
    main: HEADS,
    keys: &[
        "filters",
        "product_neuron",
        "bias",
        "weights",
        "init",
        "bias_init",
        "momentum",
    ],
    is_group: false,
    build: |layer, b| {
        let mut module = SpikeDrivenAttention::new(parts(layer, b)?);
        if let Some(yes) = layer.fields.flag("filters")? {
            module = module.filters(yes);
        }
        let (channels, _) = sizes(b);
        b.leaf(layer.kind.name, module, weights(channels, 4), |elements| {
            elements.checked_mul(channels)?.checked_mul(4)
        })
    },
};

/// Channels and positions of the current sequence.
fn sizes(b: &Builder) -> (usize, usize) {
    (b.shape[0], b.shape[1..].iter().product())
}

fn weights(channels: usize, maps: usize) -> Option<usize> {
    channels.checked_mul(channels)?.checked_mul(maps)
}

fn parts(layer: &LayerFields<'_>, b: &Builder) -> Result<AttentionParts, Located> {
    let name = layer.kind.name;
    b.spatial_axes(name)?;
    let heads = layer.main()?.integer(name, 1..=Layers::MAX_SIZE)?;
    let channels = b.shape[0];
    let product_neuron = match layer.fields.get("product_neuron") {
        Some(node) => b.own_neuron(node)?,
        None => b.neuron.clone(),
    };
    let mut parts = AttentionParts::new(channels, heads, b.neuron.clone(), product_neuron);
    parts.bias = layer.fields.flag("bias")?.unwrap_or(false);
    parts.momentum = layer.fields.number("momentum")?.unwrap_or(parts.momentum);
    parts.shape = weight_shape(layer)?.unwrap_or(parts.shape);
    [parts.weight_init, parts.bias_init] = layer.inits(channels)?;
    Ok(parts)
}
