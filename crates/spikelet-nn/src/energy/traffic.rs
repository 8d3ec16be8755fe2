//! The memory traffic of a layer of a spiking network.

use super::{LayerCounts, NumberFormat, WeightReads};
use serde::Serialize;

/// The memory traffic of a layer of a spiking network for one sample, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryTraffic {
    /// Reads of weights and other parameters.
    pub parameters: f64,
    /// Reads and writes of the states of neurons.
    pub states: f64,
    /// Reads of inputs and writes of outputs. A spike is one bit.
    pub activations: f64,
}

impl LayerCounts {
    /// The memory traffic for one of `samples` samples. A weight is read as `reads` says, another parameter once in each
    /// pass; a state is read and written at each update.
    ///
    /// ```
    /// use spikelet_nn::energy::{LayerCounts, NumberFormat, WeightReads};
    /// let layer = LayerCounts {
    ///     passes: 2,
    ///     accumulates: 30,
    ///     weights: 80,
    ///     parameters: 80,
    ///     inputs: 8,
    ///     outputs: 16,
    ///     ..LayerCounts::default()
    /// };
    /// let traffic = layer.memory_traffic(3, NumberFormat::F32, WeightReads::EachOperation);
    /// assert_eq!(traffic.parameters, 10.0 * 4.0); // 30 operations of 3 samples, 4 bytes
    /// assert_eq!(traffic.activations, 2.0 * 3.0); // 24 spikes or their absence in each pass
    /// ```
    pub fn memory_traffic(
        &self,
        samples: u64,
        format: NumberFormat,
        reads: WeightReads,
    ) -> MemoryTraffic {
        let passes = self.passes as f64;
        let samples = samples.max(1) as f64;
        let effective =
            self.accumulates as f64 / samples + self.multiply_accumulates as f64 / samples;
        let weights = match reads {
            WeightReads::EachOperation => effective,
            WeightReads::EachPass => self.weights as f64 * passes,
        };
        let others = self.parameters.saturating_sub(self.weights) as f64 * passes;
        let updates = self.neurons as f64 * passes;
        let states = 2.0 * updates * self.ops.states as f64 * format.accumulator().bits() as f64;
        MemoryTraffic {
            parameters: (weights + others) * format.bits() as f64 / 8.0,
            states: states / 8.0,
            activations: self.activation_bits(format) as f64 * passes / 8.0,
        }
    }

    /// The bits of the input and the output in one pass: an element is stored as a number or as a spike.
    pub(super) fn activation_bits(&self, format: NumberFormat) -> u64 {
        let bits = |size: u64, analog: bool| {
            let of_element = if analog { format.bits() } else { 1 };
            size.saturating_mul(of_element)
        };
        let input = bits(self.inputs, self.analog_inputs);
        input.saturating_add(bits(self.outputs, self.analog_outputs))
    }
}
