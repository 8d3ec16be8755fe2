//! The trainer: model, settings, device, folder.

use super::Settings;
use super::callbacks::Callbacks;
use super::checkpoint::{EpochRecord, best_of};
use super::engine::{BuildEngine, Engine};
use super::folder::{Former, RunLocation};
use super::interrupt::{self, EndRequest};
use super::memory::RunMemory;
use super::step::{Monitor, Step};
use super::trained::Trained;
use crate::experiment::{Experiment, OutputSettings};
use crate::health::{Evidence, Finding};
use crate::weights::InitialWeights;
use spikelet_core::Result;
use spikelet_distributed::RankGroup;
use spikelet_graph::Backend;
use spikelet_nn::module::Module;
use spikelet_nn::network::Network;
use spikelet_report::Goal;
use spikelet_report::log::Output;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The number of images in the report of a run.
pub(super) const EXAMPLES: usize = if cfg!(feature = "plots") { 6 } else { 0 };

/// Trains a [`Step`] over any data. A network alone becomes the step of a classifier of the data's images or sequences
/// ([`Step::classifier`]):
///
/// ```
/// use spikelet_train::prelude::*;
/// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
/// let digits = spikelet_data::synthetic::digits_of(0, 512, 128);
/// let settings = Settings { time_steps: 4, epochs: 1, ..Settings::default() };
/// let outcome = Trainer::new(net, settings).fit(&digits)?;
/// assert_eq!(outcome.history.len(), 1);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// A step of one's own, here a regression on sequences that are 20 steps long. Settings, folder, resume, ranks, callbacks,
/// early stopping and reports are the same:
///
/// ```
/// use spikelet_data::{Dataset, Field, InMemory};
/// use spikelet_train::prelude::*;
/// use spikelet_train::{Goal, Outputs, Step, metric};
/// use std::sync::Arc;
///
/// let net = Sequential::new().add(Linear::new(2, 16)).add(Lif::new(2.0)).add(Linear::new(16, 1));
/// let step = Step::new(|cx, inputs| {
///     let y = net.forward(cx, &inputs["x"])?.mean(&[0]);
///     let loss = loss::mse(&y, &inputs["y"]);
///     Ok(Outputs::loss(loss).metric("r2", metric::r2(&y, &inputs["y"])))
/// });
///
/// let values = |len: usize| (0..len).map(|k| (k as f32).sin()).collect::<Vec<_>>();
/// let recordings = InMemory::new("recordings")
///     .with(Field::new("x", DType::F32, [20, 2]).sequence(), values(100 * 40))?
///     .with(Field::new("y", DType::F32, [1]), values(100))?;
/// let data: Arc<dyn Dataset> = Arc::new(recordings);
///
/// // A fifth of the samples validates.
/// let settings = Settings { epochs: 3, batch_size: 16, optimizer: Adam::new(1e-2).into(), validation: 0.2, ..Settings::default() };
/// let report = Trainer::over(step, settings)
///     .monitor("r2", Goal::Maximize)
///     .fit(&data)?;
/// assert!(report.best().is_some());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub struct Trainer<'a> {
    pub(super) trained: Trained<'a>,
    pub(super) settings: Settings,
    /// The network, if it is one of this crate.
    pub(super) network: Option<Network>,
    /// The folder from which the data were read.
    pub(super) data_folder: Option<PathBuf>,
    /// Values of layers that are measured, with patterns of their names.
    pub(super) layer_monitors: Vec<(Monitor, String)>,
    /// The metric that selects the best epoch, if it is given.
    pub(super) monitor: Option<(String, Goal)>,
    pub(super) backend: Option<Arc<dyn Backend>>,
    pub(super) place: Option<RunLocation>,
    pub(super) former: Former,
    pub(super) output: Output,
    pub(super) checkpoint_every: Duration,
    pub(super) curve_steps: u64,
    /// The text of `experiment.toml` in the folder of the run.
    pub(super) experiment: Option<String>,
    /// Returns whether the run should end; called between batches.
    pub(super) end_request: Option<EndRequest>,
    /// The same, of the program that trains.
    pub(super) end_when: Option<EndRequest>,
    pub(super) loader_threads: usize,
    pub(super) group: Option<Arc<RankGroup>>,
    pub(super) engine: Option<Box<dyn BuildEngine>>,
    pub(super) callbacks: Callbacks,
    /// The number of epochs without an improvement after which the run ends.
    pub(super) patience: Option<usize>,
    /// A file of weights of another run or framework, from which the training starts.
    pub(super) init_from: Option<PathBuf>,
    /// The command that repeats the run, for its report.
    pub(super) command: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FitReport {
    /// Whether larger or smaller values of the monitored metric are better; its name is in the epochs' records.
    pub goal: Goal,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
    /// The number of epochs trained now; the others were trained before the run was resumed.
    pub epochs_trained: usize,
    /// The seconds of the run, including those before it was resumed.
    pub seconds: f64,
    /// Training samples per second over the run.
    pub samples_per_second: f64,
    /// Memory that training and evaluation used on the device, in bytes.
    pub peak_bytes: usize,
    /// Whether the run was ended by Ctrl-C; it can be resumed.
    pub interrupted: bool,
    /// Whether the run ended before its last epoch, by [`Trainer::early_stopping`] or [`Trainer::on_epoch`].
    pub stopped_early: bool,
    /// The folder of the run, if it is written.
    pub folder: Option<PathBuf>,
    /// The path of the weights of the best epoch, or of the last one without a best epoch, if a folder was given.
    pub checkpoint: Option<PathBuf>,
    /// The report as a picture, `report.svg`, if a folder was given.
    pub picture: Option<PathBuf>,
    /// The report as a page, `report.html`, if a folder was given.
    pub report: Option<PathBuf>,
    /// The measurements of the run, from which the findings follow.
    pub evidence: Evidence,
    /// The problems of the run, in words; empty for a healthy one.
    pub findings: Vec<Finding>,
}

impl FitReport {
    /// The last epoch.
    pub fn last(&self) -> Option<&EpochRecord> {
        self.history.last()
    }

    /// The epoch with the best value of the monitored metric on the validation set; `None` without one. Its test
    /// metrics are those to report.
    pub fn best(&self) -> Option<&EpochRecord> {
        best_of(&self.history)
    }

    /// The accuracy on the test set after the last epoch, from 0 to 1; NaN without a test set or without the metric
    /// `accuracy`.
    pub fn test_accuracy(&self) -> f64 {
        self.last().map_or(f64::NAN, EpochRecord::test_accuracy)
    }

    /// The highest test accuracy of all epochs. Since the epoch is selected on the test set, this overestimates the
    /// accuracy on other images; it is for comparison with results that are selected in the same way, for example
    /// those of SpikingJelly.
    pub fn highest_test_accuracy(&self) -> f64 {
        let accuracies = self.history.iter().map(EpochRecord::test_accuracy);
        accuracies.fold(0.0, f64::max)
    }
}

/// A run before its first step.
pub struct Start<'a> {
    /// The engine of its steps.
    pub engine: &'a dyn Engine,
    /// The memory of the run.
    pub memory: RunMemory,
    /// The folder of the run, if this rank writes one.
    pub folder: Option<&'a Path>,
    /// The weights from which it starts, if they are those of [`Trainer::init_from`].
    pub initial_weights: Option<&'a InitialWeights>,
}

impl<'a> Trainer<'a> {
    /// A trainer of a module that does not print or write files.
    pub fn new(module: impl Module + 'static, settings: Settings) -> Self {
        Self::of(Trained::Module(Arc::new(module)), settings)
    }

    /// A trainer of a network of this crate, whose settings are stored in its checkpoints.
    ///
    /// # Errors
    /// When a setting of the network is invalid.
    pub fn network(network: &Network, settings: Settings) -> Result<Self> {
        Ok(Self {
            network: Some(network.clone()),
            ..Self::of(Trained::Module(network.module()?), settings)
        })
    }

    /// A trainer of a step that does not print or write files. A step without inputs takes the fields of the data as inputs.
    /// Settings of the step, such as its optimizer or batch size, take precedence over `settings` ([`Step::settings`]); encoder,
    /// loss and number of time steps are used by classifiers only. Evaluations trace the step with other batch sizes: its function
    /// takes the number of samples from [`Inputs::samples`](super::Inputs::samples), not from a constant. Reports read the outputs
    /// `scores`, `[N, classes]` or `[T, N, classes]`, beside the input `labels`, and `output_seq`, `[T, N, classes]`, if the step
    /// has them.
    pub fn over(step: Step<'a>, settings: Settings) -> Self {
        let step = Trained::Step {
            train: Box::new(step),
            eval: None,
        };
        Self::of(step, settings)
    }

    /// Evaluates another step than the trained one: with labels of classes, for example, where training has soft labels
    /// of mixed images. It must have the same parameters and metrics. For a trainer of [`Trainer::over`].
    #[must_use]
    pub fn evaluation_step(mut self, step: Step<'a>) -> Self {
        if let Trained::Step { eval, .. } = &mut self.trained {
            *eval = Some(Box::new(step));
        }
        self
    }

    /// Sets the metric that selects the best epoch, by its value on the validation set: `loss`, or a metric of the
    /// step. The default is `accuracy` if there is such a metric, otherwise `loss`. Early stopping waits for it.
    #[must_use]
    pub fn monitor(mut self, metric: impl Into<String>, goal: Goal) -> Self {
        self.monitor = Some((metric.into(), goal));
        self
    }

    /// Measures values of the layers whose paths match `pattern`: see [`Step::monitor`](super::Step::monitor). Those of
    /// evaluations, and norms of gradients, are metrics in the epochs' records, logs and curves. Firing rates of training
    /// batches are measured every [`Trainer::curve_steps`] by a forward pass of its own and are in the curves; other steps
    /// keep their bits and their speed. A resumed run may have other monitors if it resumes between two epochs.
    ///
    /// ```
    /// use spikelet_train::Monitor;
    /// use spikelet_train::prelude::*;
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let digits = spikelet_data::synthetic::digits_of(0, 512, 128);
    /// let settings = Settings { time_steps: 4, epochs: 1, ..Settings::default() };
    /// let report = Trainer::new(net, settings)
    ///     .monitor_layers(Monitor::Rate, "*")
    ///     .monitor_layers(Monitor::Neurons, "*")
    ///     .fit(&digits)?;
    /// let test = report.last().and_then(|epoch| epoch.test.as_ref()).expect("a test set");
    /// assert!(test.get("2.rate").is_some() && test.get("2.dead").is_some());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    #[must_use]
    pub fn monitor_layers(mut self, monitor: Monitor, pattern: impl Into<String>) -> Self {
        self.layer_monitors.push((monitor, pattern.into()));
        self
    }

    fn of(trained: Trained<'a>, settings: Settings) -> Self {
        let OutputSettings {
            curve_steps,
            checkpoint_seconds,
            ..
        } = OutputSettings::default();
        Self {
            trained,
            settings,
            network: None,
            data_folder: None,
            layer_monitors: vec![],
            monitor: None,
            backend: None,
            place: None,
            former: Former::Refuse,
            output: Output::Quiet,
            checkpoint_every: Duration::from_secs_f64(checkpoint_seconds),
            curve_steps: curve_steps as u64,
            experiment: None,
            end_request: None,
            end_when: None,
            loader_threads: 0,
            group: None,
            engine: None,
            callbacks: Callbacks::default(),
            patience: None,
            init_from: None,
            command: None,
        }
    }

    /// Starts from the weights of a file ([`checkpoint_file`](crate::folder::checkpoint_file)): of a checkpoint of another run or of
    /// PyTorch, of safetensors or of `.npz`. Of a network, the names may be those of a framework of
    /// [`weights::Framework`](crate::weights::Framework), and if the number of classes differs, the last layer is a new one;
    /// [`Start::initial_weights`] tells what was read. Of a step, they are its own names. A resumed run starts from its checkpoint.
    #[must_use]
    pub fn init_from(mut self, file: impl Into<PathBuf>) -> Self {
        self.init_from = Some(file.into());
        self
    }

    /// Sets the device. The default is `auto` of [`device::find`](crate::device::find): a GPU if there is one, or else the CPU with
    /// all cores.
    #[must_use]
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Sets the folder from which the samples were read. Its absolute path is kept in checkpoints
    /// ([`DatasetId::folder`](crate::checkpoint::DatasetId::folder)).
    #[must_use]
    pub fn data_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_folder = Some(folder.into());
        self
    }

    /// Writes checkpoints, logs and the report into this folder. A folder that has a run is an error
    /// without [`Trainer::resume`] or [`Trainer::force`], as is a folder that another run is writing
    /// into.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.place = Some(RunLocation::At(folder.into()));
        self
    }

    /// Writes them into a new folder in this one, named by the date and a number, such as
    /// `2026-11-22-001`; the link `latest` next to it points to the newest ([`latest_run`]).
    ///
    /// [`latest_run`]: super::folder::latest_run
    #[must_use]
    pub fn new_folder_in(mut self, parent: impl Into<PathBuf>) -> Self {
        self.place = Some(RunLocation::NewIn(parent.into()));
        self
    }

    /// Resumes the run in the folder from its `last.safetensors`, which must exist. Settings,
    /// network and data must be those of that run.
    #[must_use]
    pub fn resume(mut self, yes: bool) -> Self {
        self.former = match yes {
            true => Former::Resume,
            false => Former::Refuse,
        };
        self
    }

    /// Resumes this run, as [`Trainer::folder`] and [`Trainer::resume`] do: a folder, or a
    /// checkpoint in it.
    #[must_use]
    pub fn resume_from(self, run: impl Into<PathBuf>) -> Self {
        let run = run.into();
        let parent = run.parent().map(Path::to_path_buf);
        match parent {
            Some(folder) if run.is_file() => Self {
                former: Former::ResumeFrom(run),
                ..self.folder(folder)
            },
            _ => self.folder(run).resume(true),
        }
    }

    /// Replaces the run in the folder. Its checkpoints are removed when the new run has been compiled and begins.
    #[must_use]
    pub fn force(mut self, yes: bool) -> Self {
        self.former = match yes {
            true => Former::Replace,
            false => Former::Refuse,
        };
        self
    }

    /// Sets the kind of output.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Writes `last.safetensors` at least this often, at epochs' ends in any case.
    #[must_use]
    pub fn checkpoint_every(mut self, interval: Duration) -> Self {
        self.checkpoint_every = interval;
        self
    }

    /// The number of threads that prepare batches in advance; 0 chooses automatically, see
    /// [`LoaderConfig::threads`](spikelet_data::LoaderConfig::threads). The batches are the same for
    /// any number.
    #[must_use]
    pub fn loader_threads(mut self, threads: usize) -> Self {
        self.loader_threads = threads;
        self
    }

    /// The command that repeats the run. It is stored in the folder (`command.txt`) and shown in the report; a resumed run
    /// keeps that of its beginning.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Steps between two points of the training curves, 50 by default.
    #[must_use]
    pub fn curve_steps(mut self, steps: u64) -> Self {
        self.curve_steps = steps.max(1);
        self
    }

    /// Writes the experiment into the folder of the run, as `experiment.toml`.
    #[must_use]
    pub fn experiment(mut self, experiment: &Experiment) -> Self {
        self.experiment = Some(experiment.to_toml());
        self
    }

    /// Ctrl-C, SIGTERM and SIGHUP save and end the run instead of the process; a second one of the same kind, half a second
    /// later or more, ends the process. Signals that the program ignores or handles itself are unchanged.
    #[must_use]
    pub fn interruptible(mut self, yes: bool) -> Self {
        self.end_request = yes.then(|| Arc::new(interrupt::requested) as EndRequest);
        self
    }

    /// Trains as one of several ranks, each of which has such a trainer, within [`RankGroup::run`]. The
    /// backend must be in the group. The settings' batch size is that of each rank; only rank 0
    /// reads and writes the folder and prints.
    #[must_use]
    pub fn group(mut self, group: Arc<RankGroup>) -> Self {
        self.group = Some(group);
        self
    }

    /// Runs the steps by another engine than one device: a pipeline, for example. It replaces
    /// [`Trainer::backend`].
    #[must_use]
    pub fn engine(mut self, engine: impl BuildEngine + 'static) -> Self {
        self.engine = Some(Box::new(engine));
        self
    }

    /// The name of what is trained, for reports.
    #[cfg(feature = "plots")]
    pub(super) fn name(&self) -> &str {
        match (&self.network, &self.trained) {
            (Some(network), _) => network.name(),
            (None, Trained::Step { train, .. }) if !train.name_of().is_empty() => train.name_of(),
            _ => "network",
        }
    }

    /// The time steps of a classifier; those of a step are in its inputs.
    #[cfg(feature = "plots")]
    pub(super) fn time_steps(&self) -> Option<usize> {
        self.trained.module().map(|_| self.settings.time_steps)
    }

    /// Whether the run should end before its next batch.
    pub(super) fn is_end_requested(&self) -> bool {
        let requests = [&self.end_request, &self.end_when];
        requests.into_iter().flatten().any(|asked| asked())
    }
}

impl fmt::Debug for Trainer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trainer")
            .field("trained", &self.trained)
            .field("settings", &self.settings)
            .field("monitor", &self.monitor)
            .field("interruptible", &self.end_request.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("memory", &self.memory)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
