//! The recorded values of layers, by the paths of the layers.

use spikelet_graph::Var;

/// The end of the path of spikes.
pub(super) const SPIKES: &str = "spike_seq";

/// The path of a value of a layer; the network itself can be a neuron.
pub(crate) fn path_of(layer: &str, value: &str) -> String {
    match layer {
        "" => value.to_string(),
        layer => format!("{layer}.{value}"),
    }
}

/// The layers that record a value of this name, with it.
pub(super) fn layers_with(recorded: &[(String, Var)], value: &str) -> Vec<(String, Var)> {
    let layers = recorded.iter().filter_map(|(path, var)| {
        let layer = path.strip_suffix(value)?;
        let layer = match layer.strip_suffix('.') {
            Some(layer) => layer,
            None if layer.is_empty() => "",
            None => return None,
        };
        Some((layer.to_string(), var.clone()))
    });
    layers.collect()
}
