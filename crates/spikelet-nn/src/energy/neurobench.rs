//! The metrics of NeuroBench.

use super::{LayerCounts, NetworkCounts, NumberFormat};
use serde::{Deserialize, Serialize};
use spikelet_core::Result;

/// The complexity metrics of NeuroBench, with its names and JSON.
///
/// ```
/// use spikelet_nn::energy::{LayerCounts, NetworkCounts, NeuroBench, NumberFormat};
///
/// let layer = LayerCounts {
///     name: "fc".to_string(),
///     connections: 9,
///     passes: 1,
///     multiply_accumulates: 4,
///     weights: 9,
///     zero_weights: 3,
///     parameters: 9,
///     outputs: 3,
///     ..LayerCounts::default()
/// };
/// let counts = NetworkCounts { samples: 1, layers: vec![layer] };
/// let metrics = NeuroBench::of(&counts, NumberFormat::F32)?;
/// assert_eq!(metrics.synaptic_operations.effective_macs, 4.0);
/// let json = serde_json::to_value(&metrics).expect("plain data");
/// assert_eq!(json["SynapticOperations"]["Dense"], 9.0);
/// assert_eq!(json["ConnectionSparsity"], 0.3333);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// Source: J. Yik et al., *The neurobench framework for benchmarking neuromorphic computing algorithms and systems*,
/// Nature Communications, 2025; definitions and names of the NeuroBench harness 2.3.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct NeuroBench {
    /// The memory in bytes that represents the model: parameters and buffers, at the bytes of their elements. Zero
    /// weights are included.
    pub footprint: u64,
    /// The number of parameters.
    pub parameter_count: u64,
    /// The fraction of synaptic weights that are 0, over all layers with weights, rounded to 4 decimals. Biases are
    /// not weights.
    pub connection_sparsity: f64,
    /// The fraction of activations that are 0, over the outputs of all layers of neurons, all time steps and all
    /// samples; 0 without layers of neurons.
    pub activation_sparsity: f64,
    /// Synaptic operations for one sample.
    pub synaptic_operations: SynapticOperations,
    /// Updates of membrane potentials for one sample: all neurons at the first time step, and afterwards those whose
    /// potentials before and after the step differ. Absent if a layer of neurons has no membrane potential as a state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub membrane_updates: Option<f64>,
    /// Operations of neurons for one sample. Absent if membrane updates were not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub neuron_operations: Option<NeuronOperations>,
}

/// Synaptic operations for one sample, of the layers with weights. Biases, pooling and normalization are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SynapticOperations {
    /// Products of a nonzero weight and a nonzero input, where the input of the layer has values other than −1, 0
    /// and 1.
    #[serde(rename = "Effective_MACs")]
    pub effective_macs: f64,
    /// Products of a nonzero weight and a nonzero input, where the input of the layer has only the values −1, 0
    /// and 1.
    #[serde(rename = "Effective_ACs")]
    pub effective_acs: f64,
    /// Products of all weights and all inputs: the operations of hardware without support for sparsity.
    #[serde(rename = "Dense")]
    pub dense: f64,
}

/// Operations of the updates of neurons for one sample.
///
/// NeuroBench has figures for snnTorch's neurons: 4 operations for `Leaky`, for example. Here the operations are
/// counted in the neuron's equations, with [`NeuronOps::total`](super::NeuronOps::total): figures of different
/// neurons are comparable with each other, but not with those of the harness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeuronOperations {
    /// The operations of the updates that [`NeuroBench::membrane_updates`] counts.
    #[serde(rename = "Effective Neuron Ops")]
    pub effective: f64,
    /// The operations if every neuron is updated at every time step.
    #[serde(rename = "Neuron Dense Ops")]
    pub dense: f64,
}

/// The fraction `part` of `all`; 0 of nothing.
fn fraction(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}

impl NeuroBench {
    /// The metrics of a network whose parameters have this format.
    ///
    /// # Errors
    /// [`EnergyError`](super::EnergyError) when the counts contradict each other.
    pub fn of(counts: &NetworkCounts, format: NumberFormat) -> Result<Self> {
        counts.check()?;
        let samples = counts.samples;
        let per_sample = |sum: u64| sum as f64 / samples as f64;
        let parameters = counts.sum(|layer| layer.parameters);
        let elements = parameters.saturating_add(counts.sum(|layer| layer.buffers));
        let spiking = |of: &dyn Fn(&LayerCounts) -> u64| {
            counts.sum(|layer| if layer.neurons > 0 { of(layer) } else { 0 })
        };
        let activations = spiking(&|layer| layer.activations(samples));
        let nonzero = spiking(&|layer| layer.nonzero_outputs);
        let sparsity = fraction(
            counts.sum(|layer| layer.zero_weights),
            counts.sum(|layer| layer.weights),
        );
        let updates = |layer: &LayerCounts| match layer.neurons {
            0 => Some(0),
            neurons => {
                let first = neurons.saturating_mul(samples);
                Some(first.saturating_add(layer.membrane_changes?))
            }
        };
        let all = counts.layers.iter().try_fold(0_u64, |sum, layer| {
            Some(sum.saturating_add(updates(layer)?))
        });
        let effective = || {
            counts.sum(|layer| {
                updates(layer)
                    .unwrap_or(0)
                    .saturating_mul(layer.ops.total())
            })
        };
        let dense = || {
            let of = |layer: &LayerCounts| layer.neuron_updates(samples);
            counts.sum(|layer| of(layer).saturating_mul(layer.ops.total()))
        };
        Ok(Self {
            footprint: elements.saturating_mul(format.bits() / 8),
            parameter_count: parameters,
            connection_sparsity: (sparsity * 1e4).round() / 1e4,
            activation_sparsity: fraction(activations.saturating_sub(nonzero), activations),
            synaptic_operations: SynapticOperations {
                effective_macs: per_sample(counts.sum(|layer| layer.multiply_accumulates)),
                effective_acs: per_sample(counts.sum(|layer| layer.accumulates)),
                dense: per_sample(counts.sum(|layer| layer.dense_operations(samples))),
            },
            membrane_updates: all.map(per_sample),
            neuron_operations: all.map(|_| NeuronOperations {
                effective: per_sample(effective()),
                dense: per_sample(dense()),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::NeuronOps;

    /// Effective and dense operations of a linear layer, as NeuroBench defines them.
    fn linear(weights: &[[f64; 3]; 3], input: [f64; 3]) -> (u64, u64) {
        let products = weights
            .iter()
            .flat_map(|row| row.iter().zip(input).map(|(w, x)| w * x));
        let effective = products.clone().filter(|product| *product != 0.0).count();
        (effective as u64, products.count() as u64)
    }

    #[test]
    fn the_example_of_neurobenchs_documentation_has_4_of_9_operations() {
        let weights = [[1.3, 0.0, -3.2], [0.0, 1.2, -5.1], [-1.1, 2.7, 0.0]];
        assert_eq!(linear(&weights, [0.0, 1.3, -1.0]), (4, 9));
    }

    /// Two samples, two time steps: a linear layer with the weights of the example, and three IF neurons.
    fn counts() -> NetworkCounts {
        let weights = [[1.3, 0.0, -3.2], [0.0, 1.2, -5.1], [-1.1, 2.7, 0.0]];
        let inputs = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0; 3], [1.0; 3]];
        let each = inputs.map(|input| linear(&weights, input));
        // 4, 2, 0 and 6.
        let accumulates = each.iter().map(|(effective, _)| effective).sum();
        let layer = LayerCounts {
            name: "fc".to_string(),
            connections: 9,
            passes: 2,
            accumulates,
            weights: 9,
            zero_weights: 3,
            // With three biases.
            parameters: 12,
            buffers: 1,
            neurons: 3,
            ops: NeuronOps {
                additions: 2,
                comparisons: 1,
                states: 1,
                ..NeuronOps::default()
            },
            membrane_changes: Some(2),
            inputs: 3,
            outputs: 3,
            nonzero_outputs: 5,
            ..LayerCounts::default()
        };
        NetworkCounts {
            samples: 2,
            layers: vec![layer],
        }
    }

    #[test]
    fn the_metrics_of_a_small_network_are_those_computed_by_hand() {
        let metrics = NeuroBench::of(&counts(), NumberFormat::F32).expect("sound");
        assert_eq!(metrics.footprint, 4 * 13);
        assert_eq!(metrics.parameter_count, 12);
        assert_eq!(metrics.connection_sparsity, 0.3333);
        // 5 spikes of 3 neurons, 2 time steps, 2 samples.
        assert_eq!(metrics.activation_sparsity, 7.0 / 12.0);
        let operations = SynapticOperations {
            effective_macs: 0.0,
            effective_acs: 12.0 / 2.0,
            dense: 18.0,
        };
        assert_eq!(metrics.synaptic_operations, operations);
        // All three neurons at the first step of both samples, and two changes.
        assert_eq!(metrics.membrane_updates, Some(8.0 / 2.0));
        let neurons = NeuronOperations {
            effective: 8.0 * 3.0 / 2.0,
            dense: 12.0 * 3.0 / 2.0,
        };
        assert_eq!(metrics.neuron_operations, Some(neurons));
    }

    #[test]
    fn the_json_has_the_names_of_the_harness() {
        let metrics = NeuroBench::of(&counts(), NumberFormat::I8).expect("sound");
        let json = serde_json::to_value(&metrics).expect("plain data");
        let expected = serde_json::json!({
            "Footprint": 13,
            "ParameterCount": 12,
            "ConnectionSparsity": 0.3333,
            "ActivationSparsity": 7.0 / 12.0,
            "SynapticOperations": {"Effective_MACs": 0.0, "Effective_ACs": 6.0, "Dense": 18.0},
            "MembraneUpdates": 4.0,
            "NeuronOperations": {"Effective Neuron Ops": 12.0, "Neuron Dense Ops": 18.0},
        });
        assert_eq!(json, expected);
        let read: NeuroBench = serde_json::from_value(json).expect("the same structure");
        assert_eq!(read, metrics);
    }

    #[test]
    fn membrane_updates_that_were_not_counted_are_absent() {
        let mut counts = counts();
        counts.layers[0].membrane_changes = None;
        let metrics = NeuroBench::of(&counts, NumberFormat::F32).expect("sound");
        let json = serde_json::to_value(&metrics).expect("plain data");
        assert!(json.get("MembraneUpdates").is_none() && json.get("NeuronOperations").is_none());
    }
}
