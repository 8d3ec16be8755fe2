//! Max pooling comes before the activation that it follows.
//!
//! ```text
//! conv ─ relu ─ max-pool        →   conv ─ max-pool ─ relu
//! ```
//!
//! Both activations are monotonic, so that the network is the same function. Its neurons then get the maximum of the
//! currents of a step.

use super::error::ConversionError;
use super::kinds::{ACTIVATIONS, MAX_POOLS, refused};
use super::options::MaxPooling;
use super::tree::{Layer, join};

/// Refuses, exchanges or keeps the max pooling of a list, whose path is given.
pub(super) fn arrange(
    layers: Vec<Layer>,
    path: &str,
    how: MaxPooling,
) -> Result<Vec<Layer>, ConversionError> {
    let mut arranged: Vec<Layer> = vec![];
    for mut layer in layers {
        let at = join(path, &layer.name);
        for body in &mut layer.bodies {
            let inner = std::mem::take(&mut body.layers);
            body.layers = arrange(inner, &join(&at, &body.name), how)?;
        }
        if !layer.is(&MAX_POOLS) {
            arranged.push(layer);
            continue;
        }
        match how {
            MaxPooling::Refuse => {
                return Err(refused(
                    &layer,
                    &at,
                    "the maximum of the spikes of a step is not that of their rates",
                    "train with `avg-pool` in its place, or choose max pooling before the neuron \
                     (`--max-pool before-neuron`) or of spikes (`--max-pool spikes`)",
                ));
            }
            MaxPooling::OfSpikes => arranged.push(layer),
            MaxPooling::BeforeNeuron => {
                // Without an activation before it, currents are pooled already.
                if let Some(layer) = before_activation(&mut arranged, layer) {
                    arranged.push(layer);
                }
            }
        }
    }
    Ok(arranged)
}

/// Puts a layer before the activation at the end of a list or of a group at its end. Returns the layer if the list does
/// not end with an activation.
fn before_activation(layers: &mut Vec<Layer>, mut pooling: Layer) -> Option<Layer> {
    let mut last = layers.len();
    while last > 0 && layers[last - 1].is(&["dropout", "dropout2d"]) {
        last -= 1;
    }
    let Some(at) = last.checked_sub(1) else {
        return Some(pooling);
    };
    if layers[at].is(&ACTIVATIONS) {
        while layers.iter().any(|layer| layer.name == pooling.name) {
            pooling.name.push('_');
        }
        layers.insert(at, pooling);
        return None;
    }
    let is_group = layers[at].kind == "layers";
    match layers[at].bodies.as_mut_slice() {
        [body] if is_group => before_activation(&mut body.layers, pooling),
        _ => Some(pooling),
    }
}
