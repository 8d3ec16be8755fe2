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
                let mut before = arranged.len();
                while before > 0 && arranged[before - 1].is(&["dropout", "dropout2d"]) {
                    before -= 1;
                }
                match before.checked_sub(1).map(|k| &arranged[k]) {
                    Some(last) if last.is(&ACTIVATIONS) => arranged.insert(before - 1, layer),
                    Some(last) if ends_with_activation(last) => {
                        return Err(refused(
                            &layer,
                            &at,
                            "the activation before it is inside of another group of layers",
                            "put both into one list of layers",
                        ));
                    }
                    // Currents are pooled already.
                    _ => arranged.push(layer),
                }
            }
        }
    }
    Ok(arranged)
}

/// Whether the last layer of a group, also of groups inside, is an activation.
fn ends_with_activation(layer: &Layer) -> bool {
    layer.is(&ACTIVATIONS)
        || layer.is(&["layers"])
            && (layer.bodies.iter())
                .any(|body| body.layers.last().is_some_and(ends_with_activation))
}
