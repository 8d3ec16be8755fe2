//! Files of weights, and of the complete state of a training step.

use super::TrainStep;
use super::error::{StepError, TypeDifference};
use crate::folder::checkpoint_file;
use crate::weight_tensors::{of_the_model, tensor_of};
use spikelet_core::{Error, Result};
use spikelet_graph::{InputKind, Tensor};
use spikelet_nn::runtime::{Program, VarStore};
use spikelet_nn::tensors::TensorFile;
use spikelet_weights::Weights;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The metadata of a state file: completed updates, and batches since the last one.
const STEP: &str = "step";
const BATCH: &str = "accumulated_batches";

/// The tensors that [`TrainStep::load`] loaded, and those that it did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadReport {
    /// The tensors of the network that were loaded.
    pub loaded: Vec<String>,
    /// The tensors of the network that the file does not have; they keep their values.
    pub kept: Vec<String>,
    /// The tensors of the file that the network does not have.
    pub unused: Vec<String>,
}

/// Copies tensors of a store to a file, atomically.
fn write<'n>(
    store: &VarStore,
    names: impl Iterator<Item = &'n str>,
    metadata: BTreeMap<String, String>,
    path: &Path,
) -> Result<()> {
    let mut file = TensorFile {
        metadata,
        ..TensorFile::default()
    };
    for name in names {
        file.tensors.insert(name.to_string(), store.get(name)?);
    }
    file.write(path)
}

/// Checks that tensors have the names and types that the store has.
pub(crate) fn expect_tensors(
    store: &VarStore,
    expected: &BTreeSet<&str>,
    found: &BTreeMap<String, Tensor>,
    path: &Path,
) -> Result<()> {
    let missing = expected.iter().filter(|name| !found.contains_key(**name));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    let unknown = found.keys().filter(|name| !expected.contains(&name[..]));
    let unknown: Vec<String> = unknown.cloned().collect();
    let types = found.iter().filter_map(|(name, tensor)| {
        let expected = store.ty(name)?;
        (tensor.ty() != *expected).then(|| TypeDifference {
            name: name.clone(),
            found: tensor.ty(),
            expected: expected.clone(),
        })
    });
    let types: Vec<TypeDifference> = types.collect();
    if !(missing.is_empty() && unknown.is_empty() && types.is_empty()) {
        return Err(StepError::Weights {
            file: path.display().to_string(),
            missing,
            unknown,
            types,
        }
        .into());
    }
    Ok(())
}

/// Sets tensors after the check.
fn set_all(
    store: &mut VarStore,
    expected: &BTreeSet<&str>,
    found: &BTreeMap<String, Tensor>,
    path: &Path,
) -> Result<()> {
    expect_tensors(store, expected, found, path)?;
    found
        .iter()
        .try_for_each(|(name, tensor)| store.set(name, tensor))
}

impl TrainStep {
    /// Writes the parameters and buffers of the network to a safetensors file, atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, store: &VarStore, path: impl AsRef<Path>) -> Result<()> {
        write(store, self.model(), BTreeMap::new(), path.as_ref())
    }

    /// Reads parameters and buffers of the network from a file of weights ([`checkpoint_file`](crate::folder::checkpoint_file):
    /// a file, the folder of a run or of a model, `hf://owner/name`): safetensors, `.npz`, or a checkpoint of PyTorch.
    ///
    /// With `strict` the file must have exactly these tensors; otherwise those that it does not have keep their values, for
    /// fine-tuning. `map` has beginnings of names in the file with those in the network: with `[("backbone.", "trunk.")]` the
    /// tensor `backbone.0.weight` is loaded as `trunk.0.weight`. Tensors of the training in the file, such as those of the
    /// optimizer, are not read; of averaged weights the averages are. Averages start from the new values.
    ///
    /// # Errors
    /// [`StepError::Weights`] with all differences; without `strict` [`StepError::NothingLoaded`]. Nothing is changed then.
    pub fn load(
        &self,
        store: &mut VarStore,
        path: impl AsRef<Path>,
        strict: bool,
        map: &[(&str, &str)],
    ) -> Result<LoadReport> {
        let path = &checkpoint_file(path)?;
        let mapped = |name: &str| {
            let mut prefixes = map.iter();
            let mapped =
                prefixes.find_map(|(from, to)| Some(format!("{to}{}", name.strip_prefix(from)?)));
            mapped.unwrap_or_else(|| name.to_string())
        };
        let weights = of_the_model(&Weights::read(path).map_err(Error::other)?)?;
        let mut found: BTreeMap<String, Tensor> = BTreeMap::new();
        for (name, own) in weights.iter() {
            let mapped = mapped(name);
            if found.insert(mapped.clone(), tensor_of(own)).is_some() {
                return Err(Error::invalid(
                    "the names of weights",
                    format!("two tensors of {} are `{mapped}` here", path.display()),
                    "give each part of the file another beginning",
                ));
            }
        }
        let expected: BTreeSet<&str> = self.model().collect();
        let (known, unused): (BTreeMap<String, Tensor>, BTreeMap<String, Tensor>) =
            (found.into_iter()).partition(|(name, _)| strict || expected.contains(&name[..]));
        let unused: Vec<String> = unused.into_keys().collect();
        if known.is_empty() && !strict {
            return Err(StepError::NothingLoaded {
                file: path.display().to_string(),
                found: unused,
                expected: expected.into_iter().map(String::from).collect(),
            }
            .into());
        }
        let loaded: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        set_all(
            store,
            if strict { &expected } else { &loaded },
            &known,
            path,
        )?;
        self.restart_averages(store)?;
        let kept = expected.difference(&loaded);
        Ok(LoadReport {
            kept: kept.map(ToString::to_string).collect(),
            loaded: known.into_keys().collect(),
            unused,
        })
    }

    /// Sets the averages to the current values.
    fn restart_averages(&self, store: &mut VarStore) -> Result<()> {
        for (average, tensor) in &self.averages {
            store.set(average, &store.get(tensor)?)?;
        }
        Ok(())
    }

    /// The names of all tensors that are kept between steps.
    fn all_tensors(&self) -> BTreeSet<&str> {
        let programs = [&self.update].into_iter().chain(&self.accumulate);
        let inputs = programs.flat_map(|program: &Program| &program.plan().graph.inputs);
        let kept = inputs.filter(|input| input.kind != InputKind::Data);
        kept.map(|input| input.name.as_str()).collect()
    }

    /// Writes the complete state of the step, from which [`TrainStep::resume`] continues with the same bits: weights,
    /// tensors of the optimizer, accumulated gradients, averages, the loss scale, and the number of updates.
    ///
    /// The file is replaced atomically: on a full disk, after a kill, and with two processes that save to it, it is
    /// always a complete one. A process that is killed while it saves leaves a temporary file beside it, which
    /// [`remove_leftovers`](spikelet_core::files::remove_leftovers) removes.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_state(&self, store: &VarStore, path: impl AsRef<Path>) -> Result<()> {
        let metadata = [
            (STEP, self.step().to_string()),
            (BATCH, self.accumulated_batches().to_string()),
        ];
        let metadata = metadata.map(|(key, value)| (key.to_string(), value));
        let names = self.all_tensors();
        write(store, names.into_iter(), metadata.into(), path.as_ref())
    }

    /// Continues from a file of [`TrainStep::save_state`] of the same step.
    ///
    /// # Errors
    /// [`StepError::State`] and [`StepError::Weights`] for other files; nothing is changed then.
    pub fn resume(&mut self, store: &mut VarStore, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let file = TensorFile::read(path)?;
        let number = |key: &str| {
            let text = file.metadata.get(key);
            text.and_then(|text| text.parse::<u64>().ok())
                .ok_or_else(|| StepError::State {
                    file: path.display().to_string(),
                    problem: format!("its metadata has no number `{key}`"),
                })
        };
        let (step, batch) = (number(STEP)?, number(BATCH)?);
        if batch >= self.accumulated() as u64 {
            return Err(StepError::State {
                file: path.display().to_string(),
                problem: format!(
                    "it has the gradients of {batch} batches, an update here has {}",
                    self.accumulated()
                ),
            }
            .into());
        }
        set_all(store, &self.all_tensors(), &file.tensors, path)?;
        self.set_step(step);
        self.set_accumulated_batches(batch as usize);
        Ok(())
    }
}
