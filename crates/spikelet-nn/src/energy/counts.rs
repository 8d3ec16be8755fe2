//! The counts that energy and metrics are computed from.

use super::{EnergyError, NeuronOps};
use serde::{Deserialize, Serialize};
use spikelet_core::Result;

/// The sizes of a layer with its neurons, and the activity that was counted while it ran.
///
/// Sizes are those of one forward pass of one sample. Counts are sums over all samples and passes.
///
/// | field | kind | |
/// |---|---|---|
/// | `connections` | size | products of one weight and one input in a dense pass, without those with the zeros of a padding, without biases |
/// | `passes` | | forward passes for each sample: T, or 1 for a layer that is computed once for all time steps |
/// | `accumulates` | count | products of a nonzero weight and a spike (an input tensor of only −1, 0, 1): additions |
/// | `multiply_accumulates` | count | products of a nonzero weight and a nonzero input of another tensor |
/// | `weights`, `zero_weights` | size | synaptic weights, and those that are 0 |
/// | `parameters`, `buffers` | size | all parameters (weights, biases, normalization, trained constants of neurons); running statistics |
/// | `neurons` | size | neurons; 0 for a layer without |
/// | `ops` | | operations of one update of a neuron |
/// | `membrane_changes` | count | pairs of a neuron and a time step after the first whose membrane potential differs from that after the step before; `None` if it was not counted, or the potential is not a state |
/// | `inputs`, `outputs` | size | elements |
/// | `analog_inputs`, `analog_outputs` | | whether they are stored as numbers; spikes are stored as bits |
/// | `nonzero_outputs` | count | elements of the output of neurons that are not 0: their spikes; 0 for a layer without neurons |
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerCounts {
    /// The path of the layer, such as `fc.1`.
    pub name: String,
    /// Products of a weight and an input in one dense pass of one sample.
    pub connections: u64,
    /// Forward passes for each sample.
    pub passes: u64,
    /// Effective operations with spikes: additions.
    pub accumulates: u64,
    /// Effective operations with other inputs: multiplications and additions.
    pub multiply_accumulates: u64,
    /// Synaptic weights.
    pub weights: u64,
    /// Synaptic weights that are 0.
    pub zero_weights: u64,
    /// All parameters, including the weights.
    pub parameters: u64,
    /// Tensors that are no parameters, such as running statistics.
    pub buffers: u64,
    /// Neurons.
    pub neurons: u64,
    /// Operations of one update of a neuron.
    pub ops: NeuronOps,
    /// Changes of membrane potentials from step to step, after the first time step.
    pub membrane_changes: Option<u64>,
    /// Elements of the input.
    pub inputs: u64,
    /// Whether the input is stored as numbers, not as bits.
    pub analog_inputs: bool,
    /// Elements of the output.
    pub outputs: u64,
    /// Whether the output is stored as numbers, not as bits.
    pub analog_outputs: bool,
    /// Elements of the output of neurons that are not 0.
    pub nonzero_outputs: u64,
}

/// The counts of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounts {
    /// The number of samples that ran.
    pub samples: u64,
    /// The layers in their order.
    pub layers: Vec<LayerCounts>,
}

impl LayerCounts {
    /// Dense synaptic operations of all samples.
    pub fn dense_operations(&self, samples: u64) -> u64 {
        self.of_all(self.connections, samples)
    }

    /// Updates of neurons in all passes of all samples.
    pub fn neuron_updates(&self, samples: u64) -> u64 {
        self.of_all(self.neurons, samples)
    }

    /// Elements of the output in all passes of all samples.
    pub fn activations(&self, samples: u64) -> u64 {
        self.of_all(self.outputs, samples)
    }

    fn of_all(&self, size: u64, samples: u64) -> u64 {
        size.saturating_mul(self.passes).saturating_mul(samples)
    }

    fn check(&self, samples: u64) -> Result<(), EnergyError> {
        if self.passes == 0 {
            let layer = self.name.clone();
            return Err(EnergyError::NoPasses { layer });
        }
        let effective = self.accumulates.saturating_add(self.multiply_accumulates);
        for (name, count, most) in [
            (
                "effective synaptic operations",
                effective,
                self.dense_operations(samples),
            ),
            ("zero weights", self.zero_weights, self.weights),
            ("weights", self.weights, self.parameters),
            (
                "nonzero outputs",
                self.nonzero_outputs,
                self.activations(samples),
            ),
            (
                "membrane changes",
                self.membrane_changes.unwrap_or(0),
                self.neuron_updates(samples),
            ),
        ] {
            if count > most {
                return Err(EnergyError::TooMany {
                    layer: self.name.clone(),
                    name,
                    count,
                    most,
                });
            }
        }
        Ok(())
    }
}

impl NetworkCounts {
    /// Checks that no count is larger than possible.
    ///
    /// # Errors
    /// [`EnergyError`] for the first contradiction.
    pub fn check(&self) -> Result<(), EnergyError> {
        if self.samples == 0 {
            return Err(EnergyError::NoSamples);
        }
        let mut layers = self.layers.iter();
        layers.try_for_each(|layer| layer.check(self.samples))
    }

    /// A sum over the layers.
    pub(super) fn sum(&self, of: impl Fn(&LayerCounts) -> u64) -> u64 {
        let layers = self.layers.iter();
        layers.fold(0, |sum, layer| sum.saturating_add(of(layer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_named() {
        let layer = LayerCounts {
            name: "fc".to_string(),
            connections: 10,
            passes: 2,
            accumulates: 60,
            ..LayerCounts::default()
        };
        let counts = |samples, layer: &LayerCounts| NetworkCounts {
            samples,
            layers: vec![layer.clone()],
        };
        assert_eq!(counts(3, &layer).check(), Ok(()));
        assert_eq!(counts(0, &layer).check(), Err(EnergyError::NoSamples));
        let error = counts(2, &layer).check().expect_err("60 of 40");
        assert!(
            error
                .to_string()
                .contains("`fc`: 60 effective synaptic operations, but at most 40"),
            "{error}"
        );
        let idle = LayerCounts { passes: 0, ..layer };
        let layer = "fc".to_string();
        let expected = Err(EnergyError::NoPasses { layer });
        assert_eq!(counts(1, &idle).check(), expected);
    }
}
