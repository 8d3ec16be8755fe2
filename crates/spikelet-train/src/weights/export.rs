//! A state dict of a framework from the tensors of a network.

use super::error::WeightMapError;
use super::map::WeightMap;
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use spikelet_weights::Weights;

impl WeightMap {
    /// The state dict of a network whose tensors `tensor` returns by name.
    ///
    /// ```
    /// use spikelet_graph::Tensor;
    /// use spikelet_nn::prelude::*;
    /// use spikelet_train::weights::{Framework, WeightMap};
    ///
    /// let net = Sequential::new().add(Linear::new(2, 1).bias(false)).add(Plif::new(2.0));
    /// let map = WeightMap::new(Framework::SpikingJelly, &net, &[8, 1, 2])?;
    /// let (weight, w) = (Tensor::f32([1, 2], vec![0.5, 0.25]), Tensor::f32([], vec![0.1]));
    /// let weights = map.export(|name| if name == "0.weight" { Some(&weight) } else { Some(&w) })?;
    /// let names: Vec<&str> = weights.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["1.w", "0.weight"]);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WeightMapError::NoCounterpart`]; [`WeightMapError::MissingTensor`].
    pub fn export<'t>(&self, tensor: impl Fn(&str) -> Option<&'t Tensor>) -> Result<Weights> {
        let unmapped = self.unmapped.iter().map(|own| own.name.clone());
        let names: Vec<String> = self
            .no_counterpart
            .iter()
            .cloned()
            .chain(unmapped)
            .collect();
        if !names.is_empty() {
            return Err(Error::other(WeightMapError::NoCounterpart {
                framework: self.framework,
                names,
            }));
        }
        let mut weights = Weights::default();
        let mut insert = |name: &str, tensor| weights.insert(name, tensor).map_err(Error::other);
        for entry in &self.entries {
            let own = tensor(&entry.ours).ok_or_else(|| {
                Error::other(WeightMapError::MissingTensor {
                    name: entry.ours.clone(),
                })
            })?;
            insert(&entry.theirs, entry.transform.to_theirs(own)?)?;
        }
        for constant in self.constants.iter().filter(|constant| constant.stored) {
            insert(&constant.theirs, constant.value.clone())?;
        }
        Ok(weights)
    }
}
