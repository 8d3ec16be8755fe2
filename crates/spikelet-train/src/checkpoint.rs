//! Checkpoints: the complete state of a run, so that it resumes with the same bits.

mod dataset_id;
mod definition;
mod error;
mod fields;
mod info;
mod loss_scale;
mod model_card;
mod model_folder;
mod progress;
mod range;
mod record;
mod upgrade;

pub use dataset_id::DatasetId;
pub use definition::{RunDefinition, StepDefinition};
pub use error::{CheckpointError, CheckpointProblem, Difference};
pub(super) use fields::{differences, joined};
pub use info::CheckpointInfo;
pub use progress::Progress;
pub use record::EpochRecord;
pub(super) use record::best_of;

use super::Settings;
use super::folder::{LAST, checkpoint_file, nothing_to_resume};
use super::step::{ForwardTrace, SampleBatch, SampleShape, Step};
use super::weight_tensors::belongs_to_training;
use serde::Serialize;
use serde_json::Value;
use spikelet_core::files;
use spikelet_core::{Error, Result};
use spikelet_graph::{DType, Data, Tensor, TensorType};
use spikelet_nn::module::Module;
use spikelet_nn::network::Network;
use spikelet_nn::runtime::VarStore;
use spikelet_nn::tensors::TensorFile;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The tensors of a network with its settings and progress.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Parameters, and optimizer tensors if it can be resumed.
    pub tensors: TensorFile,
    /// What was trained, and how.
    pub definition: RunDefinition,
    /// The progress of the run.
    pub progress: Progress,
    /// The data of the run.
    pub dataset: DatasetId,
    /// The path of the file; empty if it was not read from a file.
    path: PathBuf,
}

const FORMAT: &str = "spikelet checkpoint 6";

fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("settings and progress are plain data")
}

/// Whether all elements are finite.
pub(super) fn is_finite(tensor: &Tensor) -> bool {
    match &tensor.data {
        Data::F32(values) => values.iter().all(|x| x.is_finite()),
        _ => tensor.to_f64().iter().all(|x| x.is_finite()),
    }
}

/// The beginnings of the names of tensors that are means of squares, and the ends of those of batch norms.
const OF_SQUARES: [&str; 2] = ["optimizer.variance.", "optimizer.square."];
const VARIANCE: &str = ".running_var";

/// Whether a tensor of this name has elements below 0 that can have none.
fn is_negative(name: &str, tensor: &Tensor) -> bool {
    let is_of_squares = OF_SQUARES.iter().any(|prefix| name.starts_with(prefix));
    (is_of_squares || name.ends_with(VARIANCE)) && tensor.to_f64().iter().any(|x| *x < 0.0)
}

/// The types and shapes of the tensors of a model, by name. No values are computed.
fn model_types(trace: &ForwardTrace) -> BTreeMap<String, TensorType> {
    let traced = trace.cx.traced();
    let tensors = traced.parameters.into_iter().chain(traced.buffers);
    let types = tensors.map(|t| (t.name, TensorType::new(DType::F32, t.shape)));
    types.collect()
}

/// An entry of the metadata.
fn entry<'m>(
    metadata: &'m HashMap<String, Value>,
    name: &str,
) -> Result<&'m Value, CheckpointProblem> {
    let missing = || CheckpointProblem::NotACheckpoint(format!("the metadata has no `{name}`"));
    metadata.get(name).ok_or_else(missing)
}

impl Checkpoint {
    /// Copies the tensors of a store: parameters only, or all.
    ///
    /// # Errors
    /// When the device fails.
    pub fn take(
        store: &VarStore,
        names: impl Iterator<Item = String>,
        definition: &RunDefinition,
        progress: &Progress,
        dataset: &DatasetId,
    ) -> Result<Self> {
        let mut tensors = TensorFile::default();
        for name in names {
            let value = store.get(&name)?;
            tensors.tensors.insert(name, value);
        }
        Ok(Self {
            tensors,
            definition: definition.clone(),
            progress: progress.clone(),
            dataset: dataset.clone(),
            path: PathBuf::new(),
        })
    }

    /// A checkpoint of a network of layers for evaluations: its tensors, and the run that they come from. It cannot be
    /// resumed.
    pub(crate) fn of_tensors(
        tensors: BTreeMap<String, Tensor>,
        definition: RunDefinition,
        progress: Progress,
        dataset: DatasetId,
    ) -> Self {
        Self {
            tensors: TensorFile {
                tensors,
                ..TensorFile::default()
            },
            definition,
            progress,
            dataset,
            path: PathBuf::new(),
        }
    }

    /// Writes the checkpoint atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = self.tensors.clone();
        let mut entries = self.definition.entries();
        entries.extend([
            ("format", FORMAT.to_string()),
            ("progress", to_json(&self.progress)),
            ("dataset", to_json(&self.dataset)),
        ]);
        file.metadata
            .extend(entries.into_iter().map(|(k, v)| (k.to_string(), v)));
        file.write(path)
    }

    /// Reads a checkpoint, and checks that its numbers are in range and agree with each other, that all its
    /// tensors are finite, and that means of squares are at least 0. Of the folder of a run, the
    /// [`checkpoint_file`] is read.
    ///
    /// # Errors
    /// [`CheckpointError`] when it is not a checkpoint, has another format, or is inconsistent.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = checkpoint_file(path)?;
        Self::from_bytes(&files::read(&path)?, &path)
    }

    /// Reads the checkpoint from which a run resumes: `run` is its folder, or a checkpoint in it.
    ///
    /// # Errors
    /// As [`Checkpoint::read`]; when there is no checkpoint.
    pub fn from_run(run: impl AsRef<Path>) -> Result<Self> {
        let run = run.as_ref();
        let path = match run.is_file() {
            true => run.to_path_buf(),
            false => run.join(LAST),
        };
        if !path.exists() {
            return Err(nothing_to_resume(path).into());
        }
        Self::read(&path)
    }

    /// The checkpoint in a file.
    ///
    /// # Errors
    /// As [`Checkpoint::read`], naming the file.
    pub(super) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let mut tensors = TensorFile::from_bytes(bytes, path)?;
        model_folder::with_config(&mut tensors.metadata, path)?;
        Self::of_file(tensors, path).map_err(|problem| unfit(path, problem))
    }

    fn of_file(mut tensors: TensorFile, path: &Path) -> Result<Self, CheckpointProblem> {
        let info = CheckpointInfo::of_texts(&std::mem::take(&mut tensors.metadata))?;
        let named = tensors.tensors.iter();
        let broken = named.filter(|(_, tensor)| !is_finite(tensor));
        let broken: Vec<String> = broken.map(|(name, _)| name.clone()).collect();
        if !broken.is_empty() {
            return Err(CheckpointProblem::NotFinite(broken));
        }
        let named = tensors.tensors.iter();
        let negative = named.filter(|(name, tensor)| is_negative(name, tensor));
        let negative: Vec<String> = negative.map(|(name, _)| name.clone()).collect();
        if !negative.is_empty() {
            return Err(CheckpointProblem::Negative(negative));
        }
        loss_scale::check_loss_scale(&tensors)?;
        Ok(Self {
            definition: info.definition,
            progress: info.progress,
            dataset: info.dataset,
            tensors,
            path: path.to_path_buf(),
        })
    }

    /// The path of the file; empty if it was not read from a file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The network, if it is one of the named networks or from a file.
    pub fn network(&self) -> Option<&Network> {
        self.definition.network.as_ref()
    }

    /// The settings of a classifier.
    ///
    /// # Errors
    /// [`CheckpointProblem::NotAClassifier`] for a step of one's own.
    pub fn settings(&self) -> Result<&Settings> {
        match self.definition.step {
            None => Ok(&self.definition.settings),
            Some(_) => Err(self.unfit(CheckpointProblem::NotAClassifier)),
        }
    }

    /// Copies the tensors of `module`, a network for samples of this shape, to a store, without those of the
    /// optimizer. If the run kept averaged weights ([`Settings::ema`]), these are copied.
    ///
    /// ```no_run
    /// # use spikelet_train::prelude::*;
    /// # use spikelet_train::Checkpoint;
    /// # let module = Sequential::new().add(Flatten).add(Linear::new(784, 10));
    /// let checkpoint = Checkpoint::read("runs/mine/best.safetensors")?;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// checkpoint.restore(&module, [1, 28, 28], &mut store)?;
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`CheckpointError`] if a tensor of the module is missing or has another type, or if the checkpoint has other
    /// tensors; errors of tracing the module.
    pub fn restore(
        &self,
        module: &dyn Module,
        sample: impl Into<SampleShape>,
        store: &mut VarStore,
    ) -> Result<()> {
        let sample = sample.into();
        let shape = SampleBatch { batch: 1, sample };
        let step = Step::classifier_eval(module, self.settings()?, shape)?;
        self.restore_step(&step, store)
    }

    /// The tensors of the network, without those that only training needs. If the run kept averaged weights
    /// ([`Settings::ema`]), these are given.
    ///
    /// ```no_run
    /// let checkpoint = spikelet_train::Checkpoint::read("runs/mine/best.safetensors")?;
    /// for (name, tensor) in checkpoint.model_tensors() {
    ///     println!("{name} {:?}", tensor.shape);
    /// }
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn model_tensors(&self) -> BTreeMap<&str, &Tensor> {
        let all = &self.tensors.tensors;
        let model = all.iter().filter(|(name, _)| !belongs_to_training(name));
        let average = |name: &str| all.get(&format!("ema.{name}"));
        let model = model.map(|(name, own)| (name.as_str(), average(name).unwrap_or(own)));
        model.collect()
    }

    /// Whether this metadata of a safetensors file is that of a checkpoint, of any version.
    ///
    /// ```
    /// assert!(!spikelet_train::Checkpoint::is_in(&std::collections::BTreeMap::new()));
    /// ```
    pub fn is_in(metadata: &BTreeMap<String, String>) -> bool {
        let format = metadata.get("format").map_or("", String::as_str);
        format.starts_with("spikelet checkpoint")
    }

    /// Copies the tensors of the networks of a step to a store, as [`Checkpoint::restore`] does. Tensors that only
    /// training uses, such as the width of learned delays, may be there or not.
    ///
    /// # Errors
    /// As [`Checkpoint::restore`].
    pub fn restore_step(&self, step: &Step<'_>, store: &mut VarStore) -> Result<()> {
        let mut types = model_types(&step.with_batch(1).trace_evaluation()?);
        let all = &self.tensors.tensors;
        let model = all
            .iter()
            .filter(|(name, _)| types.contains_key(*name) || !belongs_to_training(name));
        let model = model.map(|(name, tensor)| {
            let average = all.get(&step.average_name(name));
            (name.as_str(), average.unwrap_or(tensor))
        });
        let model: BTreeMap<&str, &Tensor> = model.collect();
        // Batch norm needs two samples to train. A model without a form in training has no further tensors.
        if model.keys().any(|name| !types.contains_key(*name))
            && let Ok(training) = step.with_batch(2).trace_training_pass()
        {
            let training = model_types(&training).into_iter();
            types.extend(training.filter(|(name, _)| model.contains_key(&name[..])));
        }
        self.check_tensors(&model, &types)?;
        model
            .iter()
            .try_for_each(|(name, tensor)| store.insert(name, tensor))
    }

    /// Copies all tensors to the store of a run, which must have exactly these.
    pub(super) fn restore_run(&self, store: &mut VarStore) -> Result<()> {
        let types = store.names().filter_map(|name| {
            let ty = store.ty(name)?.clone();
            Some((name.to_string(), ty))
        });
        let types: BTreeMap<String, TensorType> = types.collect();
        let all = self.tensors.tensors.iter();
        let all: BTreeMap<&str, &Tensor> = all.map(|(n, t)| (n.as_str(), t)).collect();
        self.check_tensors(&all, &types)?;
        all.iter()
            .try_for_each(|(name, tensor)| store.set(name, tensor))
    }

    /// Checks that the checkpoint has exactly these tensors.
    fn check_tensors(
        &self,
        found: &BTreeMap<&str, &Tensor>,
        expected: &BTreeMap<String, TensorType>,
    ) -> Result<()> {
        let missing = expected
            .keys()
            .filter(|name| !found.contains_key(&name[..]));
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(self.unfit(CheckpointProblem::MissingTensors(missing)));
        }
        let unknown = found.keys().filter(|name| !expected.contains_key(**name));
        let unknown: Vec<String> = unknown.map(ToString::to_string).collect();
        if !unknown.is_empty() {
            return Err(self.unfit(CheckpointProblem::UnknownTensors(unknown)));
        }
        for (name, expected) in expected {
            let ty = found[&name[..]].ty();
            if ty != *expected {
                return Err(self.unfit(CheckpointProblem::TensorType {
                    tensor: name.clone(),
                    found: ty,
                    expected: expected.clone(),
                }));
            }
        }
        Ok(())
    }

    /// An error about this checkpoint.
    pub(super) fn unfit(&self, problem: CheckpointProblem) -> Error {
        unfit(&self.path, problem)
    }
}

fn unfit(path: &Path, problem: CheckpointProblem) -> Error {
    Error::other(CheckpointError {
        path: path.to_path_buf(),
        problem,
    })
}
