//! Weights of other frameworks: which tensor of their state dict is which tensor of a network, both ways.
//!
//! Layers have the same paths in both; a layer of a network can be given the name that it has there. A [`WeightMap`] is
//! the list of all tensors of a network with their names in a [`Framework`], and of what that framework stores beside
//! them. [`WeightMap::import`] makes the tensors of the network from a file with weights, [`WeightMap::export`] makes a
//! state dict that `load_state_dict(strict=True)` accepts.
//!
//! | file | content |
//! |---|---|
//! | `network.rs` | tensors and neurons of a network |
//! | `map.rs`, `entry.rs`, `value.rs`, `rules.rs` | the map, its entries, transforms of values, the functions of a framework |
//! | `prefix.rs` | prefixes of all names |
//! | `import.rs`, `export.rs` | tensors of a network from a file, and a state dict from a network |
//! | `init.rs` | the start of a training |
//! | `spikingjelly.rs`, `snntorch.rs`, `norse.rs`, `sparch.rs` | names and constants, a file for each framework |
//! | `papers.rs` | names of the programs of papers |

mod entry;
mod error;
mod export;
mod framework;
mod import;
mod init;
mod map;
mod network;
mod norse;
mod papers;
mod prefix;
mod rules;
mod snntorch;
mod sparch;
mod spikingjelly;
mod value;

pub use crate::weight_tensors::{belongs_to_training, of_the_model, tensor_of, weights_of};
pub use entry::{MapConstant, MapEntry, Transform};
pub use error::WeightMapError;
pub use framework::Framework;
pub use import::{ConstantDifference, Import};
pub use init::InitialWeights;
pub use map::WeightMap;
pub use network::OurTensor;
pub use prefix::strip_prefixes;
pub use spikelet_weights::{Tensor, Weights};
pub use value::{Formula, Relation};
