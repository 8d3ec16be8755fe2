//! Sequences that another program recorded, as safetensors or `.npz`.

use super::super::error::NirError;
use super::recording::{Layer, LayerKind, Quantity, Recording, Sequence};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_nn::tensors::TensorFile;
use spikelet_weights::{Dtype, Format, Weights};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

/// The prefix of inputs.
const INPUT: &str = "in/";

/// The entry of a file's metadata with the names of the layers in the order in which they run, a line each.
const ORDER: &str = "order";

/// Recorded sequences.
///
/// | tensor | |
/// |---|---|
/// | `LAYER/out` | the output, `[T, N, …]`; `LAYER` alone is the same |
/// | `LAYER/h`, `LAYER/v` | the potential before and after the reset |
/// | `LAYER/i` | the current |
/// | `in/NODE`, or `x` | the input |
///
/// These are the names of [`Traces`](crate::Traces). Not all have to be there. The names of recordings of trained
/// networks are read as well: `LAYER.spike_seq` and `LAYER.v_seq`.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The sequences of the layers by name.
    pub sequences: BTreeMap<String, Tensor>,
    /// The input by the names of the Inputs.
    pub inputs: BTreeMap<String, Tensor>,
    /// The names of the layers in the order in which they run; those that are missing come last, by name.
    pub order: Vec<String>,
}

impl Trace {
    /// A trace of named sequences, of which some may be the input.
    ///
    /// ```
    /// use spikelet_nir::diff::Trace;
    /// use spikelet_nn::prelude::*;
    /// let x = Tensor::f32([2, 1, 3], [0.5; 6]);
    /// let trace = Trace::new([("in/input".to_string(), x.clone()), ("fc/out".to_string(), x)].into());
    /// assert_eq!((trace.inputs.len(), trace.sequences.len()), (1, 1));
    /// ```
    pub fn new(tensors: BTreeMap<String, Tensor>) -> Self {
        let mut trace = Self::default();
        for (name, tensor) in tensors {
            match input_name(&name) {
                Some(input) => trace.inputs.insert(input.to_string(), tensor),
                None => trace.sequences.insert(name, tensor),
            };
        }
        trace
    }

    /// Reads a safetensors or `.npz` file.
    ///
    /// # Errors
    /// [`NirError::Graph`] if the file cannot be read, [`NirError::Diff`] if it has no sequences.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let weights = Weights::read(path).map_err(NirError::from)?;
        let tensors = weights.iter().map(|(name, tensor)| {
            let shape = tensor.shape();
            let tensor = match tensor.dtype() {
                Dtype::F64 => Tensor::f64(shape, tensor.to_f64()),
                _ => Tensor::f32(shape, tensor.to_f32()),
            };
            (name.to_string(), tensor)
        });
        let mut trace = Self::new(tensors.collect());
        if trace.sequences.is_empty() && trace.inputs.is_empty() {
            return Err(NirError::diff(
                format!("{}: it has no tensors", path.display()),
                "record sequences such as `lif/out`, [T, N, …]",
            )
            .into());
        }
        if Format::detect(path).map_err(NirError::from)? == Format::Safetensors {
            let metadata = TensorFile::read_metadata(path)?;
            let order = metadata.get(ORDER).map(String::as_str).unwrap_or_default();
            trace.order = order.lines().map(String::from).collect();
        }
        Ok(trace)
    }

    pub(super) fn recording(&self) -> Result<Recording, NirError> {
        let mut layers: BTreeMap<&str, Layer> = BTreeMap::new();
        for (name, tensor) in &self.sequences {
            let Some((layer, quantity)) = split(name) else {
                continue;
            };
            if tensor.shape.len() < 2 {
                return Err(NirError::diff(
                    format!(
                        "sequence `{name}` of the trace is {:?}; expected [T, N, …]: time steps, samples, …",
                        tensor.shape
                    ),
                    "record the sequences of all time steps and samples",
                ));
            }
            let layer = layers.entry(layer).or_insert_with(|| Layer {
                name: layer.to_string(),
                kind: LayerKind::Other,
                values: BTreeMap::new(),
            });
            layer.values.insert(quantity, Sequence::new(tensor));
        }
        let mut layers: Vec<Layer> = layers.into_values().collect();
        for layer in &mut layers {
            let spikes = layer
                .values
                .get(&Quantity::Output)
                .is_some_and(Sequence::is_spikes);
            if spikes {
                layer.kind = LayerKind::Spiking;
            }
        }
        let place = |name: &str| self.order.iter().position(|known| known == name);
        layers.sort_by(|a, b| {
            let places = [&a.name, &b.name].map(|name| place(name).unwrap_or(usize::MAX));
            places[0]
                .cmp(&places[1])
                .then_with(|| natural(&a.name, &b.name))
        });
        Ok(Recording { layers })
    }
}

/// The name of an input. `in/out` is the output of a node that is called `in`.
fn input_name(name: &str) -> Option<&str> {
    if name == "x" {
        return Some(name);
    }
    let input = name.strip_prefix(INPUT)?;
    (!Quantity::NAMES.contains(&input)).then_some(input)
}

/// The layer and the quantity of a sequence; none for inputs of neurons, and labels and scores beside recordings.
fn split(name: &str) -> Option<(&str, Quantity)> {
    const RECORDED: [(&str, Quantity); 2] = [
        (".spike_seq", Quantity::Output),
        (".v_seq", Quantity::Potential),
    ];
    const OTHERS: [&str; 4] = ["labels", "scores", "predictions", "indices"];
    if name.ends_with(".x_seq") || OTHERS.contains(&name) {
        return None;
    }
    let recorded = RECORDED.iter().find_map(|(end, quantity)| {
        let layer = name.strip_suffix(end)?;
        Some((layer, *quantity))
    });
    let parts = name.rsplit_once('/').and_then(|(layer, end)| {
        let quantity = Quantity::ALL
            .into_iter()
            .find(|quantity| quantity.name() == end)?;
        Some((layer, quantity))
    });
    Some(recorded.or(parts).unwrap_or((name, Quantity::Output)))
}

/// Names by letters and numbers: `net.9` comes before `net.10`.
fn natural(a: &str, b: &str) -> Ordering {
    let keys = |name: &str| -> Vec<(u64, String)> {
        let words = name.split_inclusive(|c: char| !c.is_ascii_digit());
        let key = |word: &str| {
            let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
            (
                digits.parse().unwrap_or(0),
                word[digits.len()..].to_string(),
            )
        };
        words.map(key).collect()
    };
    keys(a).cmp(&keys(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_in_the_order_of_the_numbers() {
        let mut names = ["net.10", "net.9", "net.1.lif", "a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "net.1.lif", "net.9", "net.10"]);
    }

    #[test]
    fn a_name_is_a_layer_and_a_quantity() {
        assert_eq!(split("sub/lif/v"), Some(("sub/lif", Quantity::Potential)));
        assert_eq!(split("net.3"), Some(("net.3", Quantity::Output)));
        assert_eq!(split("fc.1.v_seq"), Some(("fc.1", Quantity::Potential)));
        assert_eq!(split("labels"), None);
        assert_eq!(input_name("in/input"), Some("input"));
        assert_eq!(input_name("in/out"), None);
    }
}
