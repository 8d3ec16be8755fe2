//! Checkpoints: the complete state of a run, so that it resumes with the same bits.

mod error;
mod fields;
mod loss_scale;
mod progress;

pub use error::{CheckpointError, CheckpointProblem, Difference};
pub(super) use fields::differences;
pub(super) use progress::best_of;
pub use progress::{EpochRecord, Progress};

use super::Settings;
use super::folder::{LAST, nothing_to_resume};
use super::step::{BatchShape, Step};
use fields::parse;
use serde::{Deserialize, Serialize};
use spikelet_core::files;
use spikelet_core::{Error, Result};
use spikelet_data::{ImageDataset, Split};
use spikelet_graph::{DType, Data, Tensor, TensorType};
use spikelet_nn::module::Module;
use spikelet_nn::network::Network;
use spikelet_nn::runtime::VarStore;
use spikelet_nn::tensors::TensorFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The identity of the data of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetId {
    /// Its name.
    pub name: String,
    /// The number of training images, without validation images.
    pub train_images: usize,
    /// The number of validation images.
    pub validation_images: usize,
    /// The number of test images.
    pub test_images: usize,
    /// SHA-256 digest of all images and labels, in hexadecimal digits.
    pub sha256: String,
}

impl DatasetId {
    /// The identity of a data set with this number of validation images.
    pub(super) fn new(data: &Split, train: &ImageDataset) -> Self {
        let digits = data
            .digest()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            name: data.train.name.clone(),
            train_images: train.len(),
            validation_images: data.train.len() - train.len(),
            test_images: data.test.len(),
            sha256: digits,
        }
    }
}

/// The tensors of a network with its settings and progress.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Parameters, and optimizer tensors if it can be resumed.
    pub tensors: TensorFile,
    /// The network, if it is one of the named networks.
    pub network: Option<Network>,
    /// The settings of the training.
    pub settings: Settings,
    /// The progress of the run.
    pub progress: Progress,
    /// The data of the run.
    pub dataset: DatasetId,
    /// The path of the file; empty if it was not read from a file.
    path: PathBuf,
}

const FORMAT: &str = "spikelet checkpoint 3";

/// The prefix of the names of optimizer tensors.
const OPTIMIZER: &str = "optimizer.";

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

/// The types and shapes of the tensors of a model, by name. No values are computed.
fn model_types(
    module: &dyn Module,
    settings: &Settings,
    image: [usize; 3],
) -> Result<BTreeMap<String, TensorType>> {
    let shape = BatchShape { batch: 1, image };
    let cx = Step::classifier(module, settings, shape)?.trace_evaluation()?;
    let traced = cx.traced();
    let tensors = traced.parameters.into_iter().chain(traced.buffers);
    let types = tensors.map(|t| (t.name, TensorType::new(DType::F32, t.shape)));
    Ok(types.collect())
}

impl Checkpoint {
    /// Copies the tensors of a store: parameters only, or all.
    ///
    /// # Errors
    /// When the device fails.
    pub fn take(
        store: &VarStore,
        names: impl Iterator<Item = String>,
        network: Option<&Network>,
        settings: &Settings,
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
            network: network.cloned(),
            settings: settings.clone(),
            progress: progress.clone(),
            dataset: dataset.clone(),
            path: PathBuf::new(),
        })
    }

    /// Writes the checkpoint atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = self.tensors.clone();
        let entries = [
            ("format", FORMAT.to_string()),
            ("network", to_json(&self.network)),
            ("settings", to_json(&self.settings)),
            ("progress", to_json(&self.progress)),
            ("dataset", to_json(&self.dataset)),
        ];
        file.metadata
            .extend(entries.map(|(k, v)| (k.to_string(), v)));
        file.write(path)
    }

    /// Reads a checkpoint, and checks that its numbers are in range and agree with each other, and that all
    /// its tensors are finite.
    ///
    /// # Errors
    /// [`CheckpointError`] when it is not a checkpoint, has another format, or is inconsistent.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&files::read(path)?, path)
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
        let tensors = TensorFile::from_bytes(bytes, path)?;
        Self::of_file(tensors, path).map_err(|problem| unfit(path, problem))
    }

    fn of_file(mut tensors: TensorFile, path: &Path) -> Result<Self, CheckpointProblem> {
        let metadata = std::mem::take(&mut tensors.metadata);
        let entry = |name: &str| {
            let found = metadata.get(name).map(String::as_str);
            found.ok_or_else(|| {
                CheckpointProblem::NotACheckpoint(format!("the metadata has no `{name}`"))
            })
        };
        let format = entry("format")?;
        if format != FORMAT {
            return Err(CheckpointProblem::Format {
                found: format.to_string(),
                expected: FORMAT,
            });
        }
        let settings: Settings = parse("settings", entry("settings")?)?;
        let checked = settings.check();
        checked.map_err(|problem| CheckpointProblem::Settings(problem.to_string()))?;
        let dataset: DatasetId = parse("dataset", entry("dataset")?)?;
        let progress: Progress = parse("progress", entry("progress")?)?;
        progress.check(&settings, &dataset)?;
        let named = tensors.tensors.iter();
        let broken = named.filter(|(_, tensor)| !is_finite(tensor));
        let broken: Vec<String> = broken.map(|(name, _)| name.clone()).collect();
        if !broken.is_empty() {
            return Err(CheckpointProblem::NotFinite(broken));
        }
        loss_scale::check_loss_scale(&tensors)?;
        Ok(Self {
            network: parse("network", entry("network")?)?,
            settings,
            progress,
            dataset,
            tensors,
            path: path.to_path_buf(),
        })
    }

    /// Copies the tensors of `module`, a network for images of this shape, to a store, without those of the
    /// optimizer.
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
        image: [usize; 3],
        store: &mut VarStore,
    ) -> Result<()> {
        let types = model_types(module, &self.settings, image)?;
        let model = self.tensors.tensors.iter();
        let model = model.filter(|(name, _)| {
            let resumes = name.starts_with(OPTIMIZER) || is_loss_scale(name);
            types.contains_key(*name) || !resumes
        });
        let model: BTreeMap<&str, &Tensor> = model.map(|(n, t)| (n.as_str(), t)).collect();
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

fn is_loss_scale(name: &str) -> bool {
    super::scaling::LOSS_SCALES.contains(&name)
}

fn unfit(path: &Path, problem: CheckpointProblem) -> Error {
    Error::other(CheckpointError {
        path: path.to_path_buf(),
        problem,
    })
}
