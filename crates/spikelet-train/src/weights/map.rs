//! The map of a network.

use super::entry::{MapConstant, MapEntry, Transform};
use super::error::WeightMapError;
use super::framework::Framework;
use super::network::{NetworkTensors, OurNeuron, OurTensor, join, split};
use super::rules::{OWN, Rules};
use super::value::{integer, scalar};
use super::{norse, snntorch, sparch, spikingjelly};
use spikelet_core::{Error, Result};
use spikelet_nn::module::Module;
use std::collections::BTreeSet;

/// All tensors of a network with their names in a framework.
///
/// ```
/// use spikelet_nn::neuron::RLeakyCell;
/// use spikelet_nn::prelude::*;
/// use spikelet_train::weights::{Framework, WeightMap};
///
/// let net = Sequential::new()
///     .add_named("fc1", Linear::new(4, 3))
///     .add_named("lif1", RLeakyCell { beta: 0.8, ..RLeakyCell::default() });
/// let map = WeightMap::new(Framework::SnnTorch, &net, &[8, 2, 4])?; // an input [T, N, …]
/// let names: Vec<&str> = map.entries.iter().map(|entry| entry.theirs.as_str()).collect();
/// assert_eq!(names, ["fc1.weight", "fc1.bias"]);
/// let constants: Vec<&str> = map.constants.iter().map(|entry| entry.theirs.as_str()).collect();
/// assert_eq!(constants[..2], ["lif1.beta", "lif1.threshold"]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WeightMap {
    /// The framework.
    pub framework: Framework,
    /// The tensors of the network that the framework has. A tensor that has two names there is listed twice.
    pub entries: Vec<MapEntry>,
    /// The other entries of the state dict: constants and counts.
    pub constants: Vec<MapConstant>,
    /// The neurons that the framework does not have, as `path (type)`. Weights of other layers can be read without them.
    pub no_counterpart: Vec<String>,
    /// The tensors of the network that the framework does not have.
    pub unmapped: Vec<OurTensor>,
    /// Differences of neurons that the map cannot remove, a line each.
    pub notes: Vec<String>,
}

impl WeightMap {
    /// The map of a network for an input of the shape `input`, `[T, N, …]`. T matters for neurons with parameters for
    /// each time step; N does not. No values are computed.
    ///
    /// # Errors
    /// When the shape does not fit the network; [`WeightMapError::Twice`].
    pub fn new(framework: Framework, module: &dyn Module, input: &[usize]) -> Result<Self> {
        let rules = match framework {
            Framework::Spikelet => &OWN,
            Framework::SpikingJelly => &spikingjelly::RULES,
            Framework::SnnTorch => &snntorch::RULES,
            Framework::Norse => &norse::RULES,
            Framework::Sparch => &sparch::RULES,
        };
        let network = NetworkTensors::trace(module, input, rules.neuron)?;
        let mut map = Self {
            framework,
            entries: vec![],
            constants: vec![],
            no_counterpart: vec![],
            unmapped: vec![],
            notes: vec![],
        };
        let mut of_neurons = BTreeSet::new();
        for neuron in &network.neurons {
            map.add_neuron(rules, &network, neuron, &mut of_neurons);
        }
        let others = network.tensors.iter();
        for own in others.filter(|own| !of_neurons.contains(&own.name)) {
            let is_neurons = network.neurons.iter().any(|n| n.path == split(&own.name).0);
            let known = match is_neurons && framework != Framework::Spikelet {
                true => None,
                false => (rules.tensor)(&network, &own.name),
            };
            match known {
                Some((theirs, transform)) => {
                    map.add_batch_count(framework, &theirs);
                    map.add_entry(&network, own.name.clone(), theirs, transform);
                }
                None => map.unmapped.push(own.clone()),
            }
        }
        let names = map.entries.iter().map(|entry| &entry.theirs);
        let names = names.chain(map.constants.iter().map(|entry| &entry.theirs));
        let mut known = BTreeSet::new();
        if let Some(name) = names.into_iter().find(|name| !known.insert(*name)) {
            let name = name.clone();
            return Err(Error::other(WeightMapError::Twice { framework, name }));
        }
        Ok(map)
    }

    fn add_entry(
        &mut self,
        network: &NetworkTensors,
        ours: String,
        theirs: String,
        transform: Transform,
    ) {
        if let Some(own) = network.tensor(&ours) {
            let shape = own.shape.clone();
            self.entries.push(MapEntry {
                ours,
                shape,
                theirs,
                transform,
            });
        }
    }

    fn add_neuron(
        &mut self,
        rules: &Rules,
        network: &NetworkTensors,
        neuron: &OurNeuron,
        of_neurons: &mut BTreeSet<String>,
    ) {
        let has_feedback = || {
            let weight = join(split(&neuron.path).0, "feedback.weight");
            network.tensor(&weight).is_some()
        };
        let names = neuron.rules.as_ref();
        let names = names.filter(|names| !names.needs_feedback || has_feedback());
        let Some(names) = names else {
            self.no_counterpart
                .push(format!("{} ({})", neuron.path, neuron.kind));
            return;
        };
        let path = (rules.neuron_path)(network, &neuron.path);
        if let Some(note) = names.note {
            self.notes.push(format!(
                "`{}` ({} for {}): {note}",
                neuron.path, names.class, neuron.kind
            ));
        }
        for value in &names.values {
            let (ours, theirs) = (join(&neuron.path, value.ours), join(&path, value.theirs));
            if let Some(own) = network.tensor(&ours) {
                // A value for each channel [C] broadcasts over images as [C, 1, 1].
                let axes = match own.shape.len() {
                    1 if value.constant.is_some() => neuron.rank.saturating_sub(2),
                    _ => 0,
                };
                let transform = Transform::Constant {
                    relation: value.relation,
                    axes,
                };
                self.add_entry(network, ours.clone(), theirs, transform);
                of_neurons.insert(ours);
            } else if let Some(constant) = value.constant {
                self.constants.push(MapConstant {
                    theirs,
                    value: scalar(value.relation.of_constant(constant)),
                    stored: value.stored,
                    compared: true,
                });
            }
        }
        for (name, value) in &names.fixed {
            self.constants.push(MapConstant {
                theirs: join(&path, name),
                value: value.clone(),
                stored: true,
                compared: true,
            });
        }
        self.constants
            .extend((rules.extras)(network, neuron, &path));
    }

    /// The number of batches that PyTorch's batch norm stores beside its statistics.
    fn add_batch_count(&mut self, framework: Framework, theirs: &str) {
        let (path, name) = split(theirs);
        if name == "running_mean" && framework != Framework::Spikelet {
            self.constants.push(MapConstant {
                theirs: join(path, "num_batches_tracked"),
                value: integer(0),
                stored: true,
                compared: false,
            });
        }
    }
}
