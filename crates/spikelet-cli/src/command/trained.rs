//! A trained network of a checkpoint, and its test samples.

use crate::args::{DataArgs, DataName, DeviceArgs, EvaluationArgs, open_device};
use crate::failure::Failure;
use spikelet::data::{Dataset, FrameSettings, FramesOn, image_shape};
use spikelet::graph::Backend;
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::train::{Checkpoint, SampleShape, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The content of a checkpoint.
pub struct Trained {
    pub path: PathBuf,
    pub checkpoint: Checkpoint,
    pub network: Network,
    /// Its tensors, on the device.
    pub store: VarStore,
}

impl Trained {
    /// Reads a checkpoint and copies its tensors to the device.
    ///
    /// # Errors
    /// When the file is not a checkpoint, its network is unknown, or the device fails.
    pub fn open(path: &Path, device: &DeviceArgs) -> Result<Self, Failure> {
        Self::open_on(path, device.open()?)
    }

    /// The same on the CPU.
    ///
    /// # Errors
    /// As [`Trained::open`].
    pub fn open_on_cpu(path: &Path) -> Result<Self, Failure> {
        Self::open_on(path, open_device("cpu", 0)?)
    }

    fn open_on(path: &Path, backend: Arc<dyn Backend>) -> Result<Self, Failure> {
        let checkpoint = Checkpoint::read(path)?;
        let path = checkpoint.path().to_path_buf();
        let network = checkpoint.network().cloned().ok_or_else(|| {
            let help = "evaluate it in that program with `spikelet::train::evaluate`";
            wrong(&path, "its network is a program's own", help)
        })?;
        let mut store = VarStore::new(backend);
        let sample = sample_of(&checkpoint, &network);
        checkpoint.restore(&*network.module()?, sample, &mut store)?;
        Ok(Self {
            path,
            checkpoint,
            network,
            store,
        })
    }

    /// Writes the checkpoint with the tensors of the network as they are now, atomically. It cannot be resumed.
    ///
    /// # Errors
    /// When the device fails, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let names = self.checkpoint.model_tensors();
        let mut changed = self.checkpoint.clone();
        changed.tensors.tensors.clear();
        for name in names.into_keys() {
            let value = self.store.get(name)?;
            changed.tensors.tensors.insert(name.to_string(), value);
        }
        Ok(changed.write(path)?)
    }

    /// A checkpoint with the settings of its evaluation and the test samples.
    ///
    /// # Errors
    /// As [`Trained::open`] and [`Trained::test`].
    pub fn evaluated(
        args: &EvaluationArgs,
        console: &Console,
    ) -> Result<(Self, Settings, Tested), Failure> {
        args.checkpoint.say(console);
        let trained = Self::open(&args.checkpoint, &args.device)?;
        let test = trained.test(&args.data, console)?;
        let settings = trained.evaluation_settings(args)?;
        Ok((trained, settings, test))
    }

    /// The settings of an evaluation.
    ///
    /// # Errors
    /// When the checkpoint has none.
    pub fn evaluation_settings(&self, args: &EvaluationArgs) -> Result<Settings, Failure> {
        let mut settings = self.checkpoint.settings()?.clone();
        settings.evaluation_batch = args.eval_batch_size.or(settings.evaluation_batch);
        Ok(settings)
    }

    /// Whether the network classifies each time step of a sequence.
    pub fn classifies_steps(&self) -> bool {
        let sample = self.sample();
        matches!(
            sample,
            SampleShape::Sequence {
                step_labels: Some(_),
                ..
            }
        )
    }

    /// The names of the classes, as far as they are known.
    pub fn classes(&self) -> Vec<String> {
        let stored = &self.checkpoint.dataset.classes;
        match self.dataset() {
            Some(known) if stored.is_empty() => known.classes(),
            _ => stored.clone(),
        }
    }

    /// The data set of the training; `None` if this program does not know it.
    pub fn dataset(&self) -> Option<DataName> {
        DataName::of_dataset(&self.checkpoint.dataset.name)
    }

    /// Reads the test samples of --dataset, or of the data set of the training.
    ///
    /// # Errors
    /// When the data set is unknown, or the samples do not fit or are missing.
    pub fn test(&self, data: &DataArgs, console: &Console) -> Result<Tested, Failure> {
        let otherwise = self.dataset();
        if otherwise.is_none() && data.data.is_none() {
            let known = &self.checkpoint.dataset.name;
            let problem = format!("it was trained on `{known}`, which is not known here");
            return Err(wrong(&self.path, problem, "name a data set with --dataset"));
        }
        let own = data.data.is_none() || data.data == otherwise;
        let mut settings = self.checkpoint.settings()?.clone();
        // Evaluations make the same frames on the host.
        settings.frames.frames_on = FramesOn::Host;
        if !own {
            (settings.split, settings.frames) = (None, FrameSettings::default());
        }
        let data = data.in_folder_of(&self.checkpoint.dataset);
        let loaded = data.load_test(otherwise, &settings, &self.network, console)?;
        let (trained, given) = (&self.checkpoint.dataset.classes, loaded.class_names());
        let mut each = trained.iter().zip(given);
        if own && let Some((trained, given)) = each.find(|(trained, given)| trained != given) {
            return Err(wrong(
                &self.path,
                format!(
                    "it was trained on the class {trained}, in whose place the data have {given}"
                ),
                "name the folder of the training with --data-dir, or one with its classes",
            ));
        }
        Ok(Tested {
            name: loaded.name().to_string(),
            samples: loaded.test,
        })
    }

    /// The shape of the samples that the network takes.
    pub fn sample(&self) -> SampleShape {
        sample_of(&self.checkpoint, &self.network)
    }

    /// The images that the network takes, for commands that show images.
    ///
    /// # Errors
    /// When it takes sequences.
    pub fn image(&self) -> Result<[usize; 3], Failure> {
        let trained = &self.checkpoint.dataset.name;
        match self.sample() {
            SampleShape::Image(image) => Ok(image),
            _ => {
                let problem =
                    format!("it was trained on the sequences of {trained}, not on images");
                Err(wrong(&self.path, problem, NOT_IMAGES))
            }
        }
    }
}

/// The shape of the samples of a network in a checkpoint.
fn sample_of(checkpoint: &Checkpoint, network: &Network) -> SampleShape {
    let settings = checkpoint.settings().cloned().unwrap_or_default();
    DataName::sample_in_checkpoint(&checkpoint.dataset.name, network, &settings)
}

/// The help of commands for images where the network takes sequences.
const NOT_IMAGES: &str =
    "evaluate it with `spikelet eval`; `spikelet record` writes the spikes of its layers to a file";

/// The samples of an evaluation: test samples, or those of files.
pub struct Tested {
    /// The name of the data set.
    pub name: String,
    pub samples: Arc<dyn Dataset>,
}

impl Tested {
    /// The name of the data set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The samples.
    pub fn samples(&self) -> &Arc<dyn Dataset> {
        &self.samples
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// One of them: `image` or `sequence`.
    pub fn kind(&self) -> &'static str {
        match image_shape(&*self.samples) {
            Ok(_) => "image",
            Err(_) => "sequence",
        }
    }

    /// The images.
    ///
    /// # Errors
    /// When they are sequences.
    pub fn images(&self) -> Result<&Arc<dyn Dataset>, Failure> {
        match image_shape(&*self.samples) {
            Ok(_) => Ok(&self.samples),
            Err(_) => {
                let problem = format!("{} has sequences, not images", self.name());
                Err(Failure::other(problem, NOT_IMAGES))
            }
        }
    }
}

fn wrong(path: &Path, problem: impl std::fmt::Display, help: &str) -> Failure {
    Failure::other(format!("{}: {problem}", path.display()), help)
}
