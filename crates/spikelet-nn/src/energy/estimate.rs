//! The energy of a network under a cost table.

use super::{CostTable, LayerCounts, MemoryCosts, NetworkCounts, NumberFormat};
use serde::Serialize;
use spikelet_core::Result;
use spikelet_schema::Schema;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// An energy in pJ: its lowest and its highest value, which differ where a table has a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

impl Energy {
    fn exactly(energy: f64) -> Self {
        let (low, high) = (energy, energy);
        Self { low, high }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

impl Add for Energy {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(energies: I) -> Self {
        energies.fold(Self::default(), Add::add)
    }
}

/// In the largest unit that leaves at least one digit: `12.3 nJ`, or `1.3–2.6 µJ`.
impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1e12, "J"), (1e9, "mJ"), (1e6, "µJ"), (1e3, "nJ")];
        let unit = units.into_iter().find(|(size, _)| self.high >= *size);
        let (size, unit) = unit.unwrap_or((1.0, "pJ"));
        let [low, high] = [self.low, self.high].map(|energy| energy / size);
        match low == high {
            true => write!(f, "{high:.3} {unit}"),
            false => write!(f, "{low:.3}–{high:.3} {unit}"),
        }
    }
}

/// How often a weight is read from the memory that holds the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum WeightReads {
    /// For each synaptic operation.
    ///
    /// Event-driven hardware without reuse.
    #[default]
    EachOperation,
    /// Once in each time step.
    ///
    /// Hardware that keeps a weight for all operations of a pass.
    EachPass,
}

/// The energy of a layer, in pJ, for one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerEnergy {
    /// The path of the layer.
    pub name: String,
    /// Synaptic operations.
    pub synapses: Energy,
    /// Updates of neurons, or activation functions.
    pub neurons: Energy,
    /// Reads of parameters.
    pub parameters: Energy,
    /// Reads and writes of the states of neurons.
    pub states: Energy,
    /// Reads of inputs and writes of outputs.
    pub activations: Energy,
}

impl LayerEnergy {
    /// The sum.
    pub fn total(&self) -> Energy {
        let memory = self.parameters + self.states + self.activations;
        self.synapses + self.neurons + memory
    }
}

/// The energy of a network for one sample, under the assumptions that [`Estimate::assumptions`] lists.
///
/// `Display` prints the energy of each layer, the sum, and the assumptions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The network, such as `spiking network, 32-bit floating point`.
    pub subject: String,
    /// The name of the cost table.
    pub table: String,
    /// The layers in their order.
    pub layers: Vec<LayerEnergy>,
    /// The assumptions, one sentence each.
    pub assumptions: Vec<String>,
}

/// The memories that hold the data of a network, and their energies of a bit.
struct Traffic<'a> {
    memory: &'a MemoryCosts,
    /// Bytes of all parameters, of all states, and of the largest input and output of a layer.
    parameters: u64,
    states: u64,
    activations: u64,
}

impl Traffic<'_> {
    /// The energy of accesses to `bits` bits of data of `bytes`.
    fn energy(&self, bits: f64, bytes: u64) -> Energy {
        let [low, high] = self.memory.per_bit(bytes);
        Energy { low, high }.times(bits)
    }

    fn sentence(&self) -> String {
        let place = |what: &str, bytes: u64| {
            format!("{what} ({bytes} bytes) are in {}", self.memory.level(bytes))
        };
        let places = [
            place("parameters", self.parameters),
            place("states of neurons", self.states),
            place("inputs and outputs of a layer", self.activations),
        ];
        format!(
            "Data are in the smallest memory of the table that holds all of their kind: {}; a write costs as much \
             as a read.",
            places.join(", ")
        )
    }
}

impl Estimate {
    /// The energy of a spiking network: an addition for each accumulate, a multiplication and an addition for each
    /// multiply-accumulate, the operations of each update of a neuron.
    ///
    /// # Errors
    /// [`EnergyError`](super::EnergyError) when the counts contradict each other.
    pub fn spiking(
        counts: &NetworkCounts,
        table: &CostTable,
        format: NumberFormat,
        reads: WeightReads,
    ) -> Result<Self> {
        counts.check()?;
        let samples = counts.samples as f64;
        let sum = format.accumulator();
        let traffic = traffic(counts, table, |layer| {
            let states = layer.neurons.saturating_mul(layer.ops.states);
            [
                layer.parameters.saturating_mul(format.bits()),
                states.saturating_mul(sum.bits()),
                layer.activation_bits(format),
            ]
        });
        let of_layer = |layer: &LayerCounts| {
            let passes = layer.passes as f64;
            let updates = layer.neurons as f64 * passes;
            let synapses = layer.accumulates as f64 * table.accumulate(format)
                + layer.multiply_accumulates as f64 * table.multiply_accumulate(format);
            let ops = &layer.ops;
            let additions = ops.additions as f64 + ops.comparisons as f64;
            let multiplications = ops.multiplications as f64 + ops.divisions as f64;
            let of_update = additions * table.add(sum) + multiplications * table.multiply(sum);
            let mut energy = LayerEnergy {
                name: layer.name.clone(),
                synapses: Energy::exactly(synapses / samples),
                neurons: Energy::exactly(updates * of_update),
                ..LayerEnergy::default()
            };
            if let Some(traffic) = &traffic {
                let bytes = layer.memory_traffic(counts.samples, format, reads);
                energy.parameters = traffic.energy(bytes.parameters * 8.0, traffic.parameters);
                energy.states = traffic.energy(bytes.states * 8.0, traffic.states);
                energy.activations = traffic.energy(bytes.activations * 8.0, traffic.activations);
            }
            energy
        };
        let mut assumptions = vec![
            source(table),
            format!(
                "A synaptic operation of a spike is an addition ({} pJ); of another input a multiplication and an \
                 addition ({} pJ). Operations with zero inputs or zero weights take no energy.",
                figure(table.accumulate(format)),
                figure(table.multiply_accumulate(format))
            ),
            format!(
                "Every neuron is updated at every time step, in {}: its additions, and its comparisons as \
                 additions ({} pJ); its multiplications, and its divisions as multiplications ({} pJ).",
                sum.summary(),
                figure(table.add(sum)),
                figure(table.multiply(sum))
            ),
        ];
        let functions = counts.sum(|layer| {
            let updates = layer.neuron_updates(1);
            updates.saturating_mul(layer.ops.functions)
        });
        if functions > 0 {
            assumptions.push(format!(
                "{functions} elementary functions in the updates of neurons are left out: the table has no figure."
            ));
        }
        assumptions.push(match &traffic {
            None => NO_MEMORY.to_string(),
            Some(traffic) => traffic.sentence(),
        });
        if traffic.is_some() {
            assumptions.push(format!(
                "A weight is read {}; other parameters once in each time step. Each state is read and written at \
                 each update. Spikes are one bit, read and written once.",
                match reads {
                    WeightReads::EachOperation => "for each synaptic operation",
                    WeightReads::EachPass => "once in each time step",
                }
            ));
        }
        assumptions.push(LEFT_OUT.to_string());
        Ok(Self {
            subject: format!("spiking network, {}", format.summary()),
            table: table.name.clone(),
            layers: counts.layers.iter().map(of_layer).collect(),
            assumptions,
        })
    }

    /// The energy of an artificial neural network of the same shape: each layer runs once for a sample, with a
    /// multiplication and an addition for each connection, and a comparison (ReLU) for each neuron. With
    /// [`NumberFormat::I8`] it is the 8-bit version of that network.
    ///
    /// # Errors
    /// [`EnergyError`](super::EnergyError) when the counts contradict each other.
    pub fn artificial(
        counts: &NetworkCounts,
        table: &CostTable,
        format: NumberFormat,
        reads: WeightReads,
    ) -> Result<Self> {
        counts.check()?;
        let traffic = traffic(counts, table, |layer| {
            let elements = layer.inputs.saturating_add(layer.outputs);
            let bits = |size: u64| size.saturating_mul(format.bits());
            [bits(layer.parameters), 0, bits(elements)]
        });
        let of_layer = |layer: &LayerCounts| {
            let connections = layer.connections as f64;
            let mut energy = LayerEnergy {
                name: layer.name.clone(),
                synapses: Energy::exactly(connections * table.multiply_accumulate(format)),
                neurons: Energy::exactly(layer.neurons as f64 * table.add(format)),
                ..LayerEnergy::default()
            };
            if let Some(traffic) = &traffic {
                let weights = match reads {
                    WeightReads::EachOperation => connections,
                    WeightReads::EachPass => layer.weights as f64,
                };
                let others = (layer.parameters - layer.weights) as f64;
                let bits = format.bits() as f64;
                let activations = (layer.inputs as f64 + layer.outputs as f64) * bits;
                energy.parameters = traffic.energy((weights + others) * bits, traffic.parameters);
                energy.activations = traffic.energy(activations, traffic.activations);
            }
            energy
        };
        let mut assumptions = vec![
            source(table),
            format!(
                "The network has the shape of the spiking network and runs once for each sample: a multiplication \
                 and an addition for each connection ({} pJ), also where an input or a weight is 0.",
                figure(table.multiply_accumulate(format))
            ),
            format!(
                "The activation function is one comparison for each neuron, which costs as much as an addition ({} pJ).",
                figure(table.add(format))
            ),
        ];
        if format == NumberFormat::I8 {
            assumptions.push(
                "Weights and activations are 8-bit integers, products are accumulated in 32-bit integers; the \
                 conversion of sums to 8 bits is left out."
                    .to_string(),
            );
        }
        match &traffic {
            None => assumptions.push(NO_MEMORY.to_string()),
            Some(traffic) => {
                assumptions.push(traffic.sentence());
                assumptions.push(format!(
                    "A weight is read {}; other parameters once. Inputs are read once, outputs are written once.",
                    match reads {
                        WeightReads::EachOperation => "for each connection",
                        WeightReads::EachPass => "once",
                    }
                ));
            }
        }
        assumptions.push(LEFT_OUT.to_string());
        Ok(Self {
            subject: format!("artificial network of the same shape, {}", format.summary()),
            table: table.name.clone(),
            layers: counts.layers.iter().map(of_layer).collect(),
            assumptions,
        })
    }

    /// The energy of all layers for one sample.
    pub fn total(&self) -> Energy {
        self.layers.iter().map(LayerEnergy::total).sum()
    }
}

const NO_MEMORY: &str = "Memory accesses are left out.";

const LEFT_OUT: &str = "Control, communication, encoding of the input, normalization, pooling and static power are \
                        left out.";

/// An energy of a single operation; the sum of 0.2 and 0.1 is 0.3.
fn figure(energy: f64) -> f64 {
    (energy * 1000.0).round() / 1000.0
}

fn source(table: &CostTable) -> String {
    format!("Energies of operations: {}.", table.source)
}

/// The memories of a network by the bits of each layer's parameters, states, and input and output together.
fn traffic<'a>(
    counts: &NetworkCounts,
    table: &'a CostTable,
    bits: impl Fn(&LayerCounts) -> [u64; 3],
) -> Option<Traffic<'a>> {
    let memory = table.memory.as_ref()?;
    let all = |k: usize| counts.layers.iter().map(&bits).map(move |each| each[k]);
    Some(Traffic {
        memory,
        parameters: all(0).fold(0_u64, u64::saturating_add).div_ceil(8),
        states: all(1).fold(0_u64, u64::saturating_add).div_ceil(8),
        activations: all(2).max().unwrap_or(0).div_ceil(8),
    })
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} per sample", self.subject, self.total())?;
        for layer in &self.layers {
            writeln!(
                f,
                "  {}: {} (synapses {}, neurons {}, parameters {}, states {}, activations {})",
                layer.name,
                layer.total(),
                layer.synapses,
                layer.neurons,
                layer.parameters,
                layer.states,
                layer.activations,
            )?;
        }
        writeln!(f, "Assumptions:")?;
        for assumption in &self.assumptions {
            writeln!(f, "  - {assumption}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
