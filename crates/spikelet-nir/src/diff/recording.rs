//! The sequences of the layers of a network, in the order in which the layers run.

use crate::graph::NodeKind;
use spikelet_graph::Tensor;
use spikelet_schema::Schema;
use std::collections::BTreeMap;

/// A sequence of a layer. The order is that of the computation within a step. Its word is the end of the name in files: `lif/out`
/// is the output of `lif`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Schema)]
#[schema(crate = spikelet_schema)]
pub enum Quantity {
    /// Current.
    #[schema(name = "i")]
    Current,
    /// Potential before the reset.
    #[schema(name = "h")]
    PotentialBeforeReset,
    /// Output.
    ///
    /// Spikes, or values of layers that are no neurons.
    #[schema(name = "out")]
    Output,
    /// Potential after the reset.
    #[schema(name = "v")]
    Potential,
}

/// All layers of a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub(super) layers: Vec<Layer>,
}

impl Recording {
    pub(super) fn get(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// The names, for messages.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self
            .layers
            .iter()
            .map(|layer| layer.name.as_str())
            .collect();
        match names.len() {
            0 => "no layers".to_string(),
            1..=16 => names.join(", "),
            more => format!("{} and {} more", names[..16].join(", "), more - 16),
        }
    }
}

/// A layer with its recorded sequences.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) kind: LayerKind,
    pub(super) values: BTreeMap<Quantity, Sequence>,
}

impl Layer {
    /// The shape of a sequence of the layer: [T, N, …].
    pub(super) fn shape(&self) -> &[usize] {
        let output = self.values.get(&Quantity::Output);
        let any = output.or_else(|| self.values.values().next());
        any.map_or(&[], |sequence| &sequence.shape)
    }

    /// Whether two layers may be the same one under different names.
    pub(super) fn resembles(&self, other: &Self) -> bool {
        self.kind == other.kind && self.shape() == other.shape()
    }
}

/// What is known about a layer whose name does not tell its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerKind {
    Input,
    Output,
    /// A neuron that fires.
    Spiking,
    /// A layer with weights.
    Weighted,
    Other,
}

impl LayerKind {
    pub(super) fn of(kind: &NodeKind) -> Self {
        match kind {
            NodeKind::Input { .. } => Self::Input,
            NodeKind::Output { .. } => Self::Output,
            NodeKind::If(_) | NodeKind::Lif(_) | NodeKind::CubaLif(_) | NodeKind::Threshold(_) => {
                Self::Spiking
            }
            NodeKind::Affine(_)
            | NodeKind::Linear(_)
            | NodeKind::Conv1d(_)
            | NodeKind::Conv2d(_) => Self::Weighted,
            _ => Self::Other,
        }
    }
}

/// Values in f64, with time first.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f64>,
}

impl Sequence {
    pub(super) fn new(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape.clone(),
            values: tensor.to_f64(),
        }
    }

    /// Whether all values are 0 or 1.
    pub(super) fn is_spikes(&self) -> bool {
        self.values
            .iter()
            .all(|&value| value == 0.0 || value == 1.0)
    }

    /// The time step, the sample and the neuron of an element.
    pub(super) fn position(&self, element: usize) -> (usize, usize, Vec<usize>) {
        let mut rest = element;
        let mut axes = vec![0; self.shape.len()];
        for (axis, size) in axes.iter_mut().zip(&self.shape).rev() {
            *axis = rest % size;
            rest /= size;
        }
        let neuron = axes.get(2..).unwrap_or_default().to_vec();
        (
            axes.first().copied().unwrap_or(0),
            axes.get(1).copied().unwrap_or(0),
            neuron,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_an_element_is_step_sample_and_neuron() {
        let sequence = Sequence::new(&Tensor::f32([4, 2, 3, 5], vec![0.0; 120]));
        assert_eq!(sequence.position(0), (0, 0, vec![0, 0]));
        assert_eq!(sequence.position(2 * 30 + 15 + 5 + 4), (2, 1, vec![1, 4]));
    }
}
