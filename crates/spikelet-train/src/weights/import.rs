//! The tensors of a network from a file with weights.

use super::error::WeightMapError;
use super::map::WeightMap;
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use spikelet_weights::{Expected, NameMap, NameMatch, Weights};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The relative difference from which constants are not the same: files have them as F32.
const TOLERANCE: f64 = 1e-6;

/// A constant of a neuron that has another value in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantDifference {
    /// Its name in the file.
    pub name: String,
    /// The value that the network has.
    pub network: f64,
    /// The value in the file.
    pub file: f64,
}

/// The tensors of a network that a file with weights has, and what does not fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Import {
    /// Tensors of the network by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// Which names were found, are missing, ambiguous, of another shape, or left over; with the names of the file.
    pub names: NameMatch,
    /// Constants of neurons that differ.
    pub differing: Vec<ConstantDifference>,
    /// Tensors whose values the network cannot have: their names in the file, and why.
    pub unusable: Vec<(String, String)>,
}

impl Import {
    /// Whether the network has all tensors and its constants are those of the file. Tensors of the file may be left over.
    pub fn is_complete(&self) -> bool {
        self.names.is_loadable() && self.differing.is_empty() && self.unusable.is_empty()
    }

    /// The tensors of the network.
    ///
    /// # Errors
    /// [`WeightMapError::Incomplete`] unless it is complete.
    pub fn complete(self) -> Result<BTreeMap<String, Tensor>> {
        match self.is_complete() {
            true => Ok(self.tensors),
            false => Err(Error::other(WeightMapError::Incomplete {
                help: match (self.names.is_loadable(), self.unusable.is_empty()) {
                    (false, _) => {
                        "name the layers of the network as in the file; `spikelet show FILE` lists its tensors"
                    }
                    (true, false) => {
                        "give weights that the network can have; the guide's page of the framework says which"
                    }
                    (true, true) => {
                        "set the constants of the network's neurons to those of the file"
                    }
                },
                report: self.to_string(),
            })),
        }
    }
}

impl fmt::Display for Import {
    /// What does not fit, a line for each kind; empty if all does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = vec![];
        let names = self.names.to_string();
        lines.extend((!names.is_empty()).then_some(names));
        let differing = self.differing.iter().map(|difference| {
            let ConstantDifference {
                name,
                network,
                file,
            } = difference;
            format!("`{name}` is {file}, the network has {network}")
        });
        let differing: Vec<String> = differing.collect();
        if !differing.is_empty() {
            lines.push(format!("of another value: {}", differing.join(", ")));
        }
        lines.extend(
            self.unusable
                .iter()
                .map(|(name, why)| format!("`{name}`: {why}")),
        );
        f.write_str(&lines.join("\n"))
    }
}

impl WeightMap {
    /// The tensors of the network in a file with weights of the framework.
    ///
    /// ```
    /// use spikelet_weights::{Tensor, Weights};
    /// use spikelet_nn::prelude::*;
    /// use spikelet_train::weights::{Framework, WeightMap};
    ///
    /// let mut weights = Weights::default();
    /// weights.insert("fc.weight", Tensor::from_f32(&[1, 2], &[0.5, 0.25])?)?;
    /// weights.insert("lif.w", Tensor::from_f32(&[], &[0.0])?)?;
    /// // The time constant is trained here and not there: τ = 1 + e^(−w).
    /// let lif = Lif::new(3.0).trainable("tau", Trainable::default());
    /// let net = Sequential::new().add_named("fc", Linear::new(2, 1).bias(false)).add_named("lif", lif);
    /// let map = WeightMap::new(Framework::SpikingJelly, &net, &[8, 1, 2])?;
    /// let tensors = map.import(&weights).complete()?;
    /// assert_eq!(tensors["lif.tau"].to_f64(), [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn import(&self, weights: &Weights) -> Import {
        let mut known = BTreeSet::new();
        let (entries, aliases): (Vec<_>, Vec<_>) = self
            .entries
            .iter()
            .partition(|entry| known.insert(entry.ours.as_str()));
        let expected = entries.iter().map(|entry| {
            let given = weights
                .get(&entry.theirs)
                .map(|tensor| tensor.shape().to_vec());
            let given = given.filter(|given| entry.transform.accepts(&entry.shape, given));
            let shape = given.unwrap_or_else(|| entry.transform.shape(&entry.shape));
            Expected::new(entry.theirs.clone(), shape)
        });
        let expected: Vec<Expected> = expected.collect();
        let ignored = NameMap::default().ignore("num_batches_tracked");
        let mut names = weights.match_names(&expected, &ignored);
        let unmapped = self.unmapped.iter();
        let unmapped =
            unmapped.map(|own| (Expected::new(own.name.clone(), own.shape.clone()), vec![]));
        names.missing.extend(unmapped);
        let constants: BTreeSet<&str> = (self.constants.iter().map(|c| c.theirs.as_str()))
            .chain(aliases.iter().map(|alias| alias.theirs.as_str()))
            .collect();
        names
            .left_over
            .retain(|name| !constants.contains(name.as_str()));
        let found: BTreeSet<&str> = names.pairs.iter().map(|(name, _)| name.as_str()).collect();
        let (mut tensors, mut unusable) = (BTreeMap::new(), vec![]);
        for entry in entries
            .iter()
            .filter(|entry| found.contains(entry.theirs.as_str()))
        {
            let Some(tensor) = weights.get(&entry.theirs) else {
                continue;
            };
            match entry.transform.to_ours(tensor, &entry.shape) {
                Ok(own) => {
                    tensors.insert(entry.ours.clone(), own);
                }
                Err(why) => unusable.push((entry.theirs.clone(), why)),
            }
        }
        Import {
            tensors,
            names,
            differing: self.differing(weights),
            unusable,
        }
    }

    /// The constants that a file has with another value.
    fn differing(&self, weights: &Weights) -> Vec<ConstantDifference> {
        let mut differing = vec![];
        for constant in self.constants.iter().filter(|constant| constant.compared) {
            let Some(given) = weights.get(&constant.theirs) else {
                continue;
            };
            let own = constant.value.to_f64();
            let pairs = given.to_f64().into_iter().enumerate();
            // One value of the network is that of all neurons.
            let mut pairs =
                pairs.filter_map(|(k, file)| Some((*own.get(k).or(own.first())?, file)));
            let same = |&(network, file): &(f64, f64)| {
                (network - file).abs() <= TOLERANCE * network.abs().max(file.abs())
            };
            if let Some((network, file)) = pairs.find(|pair| !same(pair)) {
                let name = constant.theirs.clone();
                differing.push(ConstantDifference {
                    name,
                    network,
                    file,
                });
            }
        }
        differing
    }
}
