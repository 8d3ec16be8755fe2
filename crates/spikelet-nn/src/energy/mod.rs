//! Operation counts of a network and the energy that they would take on hardware of a published cost table.
//!
//! The input is a [`NetworkCounts`]: for each layer its sizes, and the synaptic operations and spikes that were
//! counted while the network ran. [`Estimate`] turns them into picojoules, for the spiking network
//! ([`Estimate::spiking`]), for an artificial neural network of the same shape ([`Estimate::artificial`]), and for
//! its 8-bit version. Each estimate has its assumptions as sentences, and prints them. [`NeuroBench`] has the
//! metrics of the benchmark of that name.
//!
//! ```
//! use spikelet_nn::energy::{CostTable, Estimate, LayerCounts, NetworkCounts, NeuronOps, NumberFormat, WeightReads};
//! use spikelet_nn::prelude::*;
//!
//! // 784 inputs of which 5 % are spikes, 100 neurons, 4 time steps, one sample.
//! let layer = LayerCounts {
//!     name: "fc".to_string(),
//!     connections: 78_400,
//!     passes: 4,
//!     accumulates: 15_680,
//!     weights: 78_400,
//!     parameters: 78_400,
//!     neurons: 100,
//!     ops: NeuronOps::of(&Lif::new(2.0))?,
//!     inputs: 784,
//!     outputs: 100,
//!     ..LayerCounts::default()
//! };
//! let counts = NetworkCounts { samples: 1, layers: vec![layer] };
//! let table = CostTable::find("horowitz-45nm")?;
//! let snn = Estimate::spiking(&counts, &table, NumberFormat::F32, WeightReads::EachOperation)?;
//! let ann = Estimate::artificial(&counts, &table, NumberFormat::F32, WeightReads::EachOperation)?;
//! // Additions of 0.9 pJ, against a multiplication and an addition for each connection.
//! assert_eq!(snn.layers[0].synapses.low, 15_680.0 * 0.9);
//! assert_eq!(ann.layers[0].synapses.low, 78_400.0 * (3.7 + 0.9));
//! assert!(snn.to_string().contains("Horowitz"));
//! # Ok::<(), spikelet_nn::Error>(())
//! ```

mod counts;
mod error;
mod estimate;
mod neurobench;
mod table;
mod traffic;

pub use crate::neuron_ops::NeuronOps;
pub use crate::synapses::{ConvSynapses, Synapses};
pub use counts::{LayerCounts, NetworkCounts};
pub use error::EnergyError;
pub use estimate::{Energy, Estimate, LayerEnergy, WeightReads};
pub use neurobench::{NeuroBench, NeuronOperations, SynapticOperations};
pub use table::{Cache, CostTable, MemoryCosts, NumberFormat};
pub use traffic::MemoryTraffic;
