//! The number of classes of a list of layers.

use super::{Layers, kind};
use serde_json::Value;

impl Layers {
    /// The same network with another number of classes: its last layer with weights has as many outputs, times the votes of a
    /// `voting` layer behind it. A network whose last layer with weights is of another kind stays the same.
    ///
    /// ```
    /// use spikelet_nn::network::Layers;
    /// let text = "[network]\ninput = [64]\nlayers = [{ linear = 110 }, \"neuron\", { voting = 10 }]";
    /// let network = Layers::from_toml("net.toml", text, &[])?;
    /// assert_eq!((network.outputs()?, network.with_classes(7).outputs()?), (11, 7));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn with_classes(mut self, classes: usize) -> Self {
        resize(&mut self.layers, classes, &mut 1);
        self
    }
}

/// Sets the outputs of the last layer with weights; whether there is one.
fn resize(layers: &mut [Value], classes: usize, votes: &mut usize) -> bool {
    for layer in layers.iter_mut().rev() {
        let Some(keys) = layer.as_object_mut() else {
            // A layer by its name has no size.
            continue;
        };
        if let Some(inner) = keys.get_mut("layers").and_then(Value::as_array_mut) {
            if resize(inner, classes, votes) {
                return true;
            }
        } else if let Some(given) = keys.get("voting").and_then(Value::as_u64) {
            *votes = usize::try_from(given).unwrap_or(1);
        } else if let Some(key) = keys.keys().find(|key| is_sized(key)).cloned() {
            keys.insert(key, Value::from(classes.saturating_mul(*votes)));
            return true;
        } else if !keys.contains_key("neuron") && !keys.contains_key("dropout") {
            return false;
        }
    }
    false
}

/// Whether the value of a kind is the number of its outputs.
fn is_sized(key: &str) -> bool {
    let main = kind::find(key).and_then(|kind| kind.declaration.main());
    main.is_some_and(|main| main.key == "out_features") || key.ends_with("-readout")
}
