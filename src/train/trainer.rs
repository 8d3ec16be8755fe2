//! What is trained, where, and where it is written.

use super::checkpoint::EpochRecord;
use super::run::Run;
use super::{Engine, PipelineOptions, RunMemory, Settings, interrupt};
use crate::error::Result;
use crate::log::Output;
use crate::module::Module;
use crate::network::Network;
use crate::parallel::Group;
use spikelet_data::Split;
use spikelet_graph::Backend;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Trains a network.
///
/// ```
/// use spikelet::prelude::*;
/// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
/// let digits = spikelet::data::synthetic::digits_of(0, 512, 128);
/// let settings = Settings { time_steps: 4, epochs: 1, ..Settings::default() };
/// let outcome = Trainer::new(net, settings).fit(&digits)?;
/// assert_eq!(outcome.history.len(), 1);
/// # Ok::<(), spikelet::Error>(())
/// ```
pub struct Trainer {
    pub(super) module: Arc<dyn Module>,
    pub(super) network: Option<Network>,
    pub(super) settings: Settings,
    pub(super) backend: Option<Arc<dyn Backend>>,
    pub(super) folder: Option<PathBuf>,
    pub(super) resume: bool,
    pub(super) output: Output,
    pub(super) checkpoint_every: Duration,
    pub(super) interruptible: bool,
    pub(super) loader_threads: usize,
    pub(super) group: Option<Arc<Group>>,
    pub(super) pipeline: Option<PipelineOptions>,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Share of test images classified correctly after the last epoch.
    pub test_accuracy: f64,
    /// The best of all epochs.
    pub best_accuracy: f64,
    /// The epochs that are done.
    pub history: Vec<EpochRecord>,
    /// Seconds of the whole run, earlier parts of a resumed one included.
    pub seconds: f64,
    /// Training images a second, over the whole run.
    pub images_per_second: f64,
    /// Memory that training and evaluation took of the device, in bytes.
    pub peak_bytes: usize,
    /// Whether the run was ended by Ctrl-C; it can be resumed.
    pub interrupted: bool,
    /// The best weights, if a folder was given.
    pub checkpoint: Option<PathBuf>,
    /// The picture, if a folder was given.
    pub picture: Option<PathBuf>,
}

impl Trainer {
    /// A trainer of a module, without output and without files.
    pub fn new(module: impl Module + 'static, settings: Settings) -> Self {
        Self::of(Arc::new(module), None, settings)
    }

    /// A trainer of a network of this crate, whose checkpoints say how to build it.
    ///
    /// # Errors
    /// When a setting of the network cannot be used.
    pub fn network(network: &Network, settings: Settings) -> Result<Self> {
        Ok(Self::of(network.module()?, Some(network.clone()), settings))
    }

    fn of(module: Arc<dyn Module>, network: Option<Network>, settings: Settings) -> Self {
        Self {
            module,
            network,
            settings,
            backend: None,
            folder: None,
            resume: false,
            output: Output::Quiet,
            checkpoint_every: Duration::from_secs(20),
            interruptible: false,
            loader_threads: 0,
            group: None,
            pipeline: None,
        }
    }

    /// Trains on this device; otherwise on the CPU with all its cores.
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Writes checkpoints, logs and the picture into this folder.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Goes on from the folder's last checkpoint, if there is one.
    pub fn resume(mut self, yes: bool) -> Self {
        self.resume = yes;
        self
    }

    /// What to print.
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Writes `last.safetensors` at least this often, at epochs' ends in any case.
    pub fn checkpoint_every(mut self, interval: Duration) -> Self {
        self.checkpoint_every = interval;
        self
    }

    /// How many threads prepare batches ahead; 0 chooses, see
    /// [`LoaderConfig::threads`](spikelet_data::LoaderConfig::threads). The batches are the same for
    /// any number.
    pub fn loader_threads(mut self, threads: usize) -> Self {
        self.loader_threads = threads;
        self
    }

    /// Ctrl-C, SIGTERM and SIGHUP save and end the run instead of the process; after the first of them
    /// they do what they did before the run. Signals that the program ignores or handles itself are
    /// left alone.
    pub fn interruptible(mut self, yes: bool) -> Self {
        self.interruptible = yes;
        self
    }

    /// Trains as one of several ranks, each of which has such a trainer, within [`Group::run`]. The
    /// backend must be in the group. The settings' batch size is that of each rank; rank 0 alone
    /// reads and writes the folder, and prints.
    pub fn group(mut self, group: Arc<Group>) -> Self {
        self.group = Some(group);
        self
    }

    /// Trains through a pipeline, in place of [`Trainer::backend`]. The module must be a chain, as
    /// [`Sequential`](crate::module::Sequential) and the networks of this crate are.
    pub fn pipeline(mut self, options: PipelineOptions) -> Self {
        self.pipeline = Some(options);
        self
    }

    /// Trains to the end of the last epoch.
    ///
    /// # Errors
    /// When settings, shapes, files or the device refuse; a loss that is not finite ends the run.
    pub fn fit(&self, data: &Split) -> Result<Outcome> {
        self.fit_announced(data, |_, _| {})
    }

    /// Trains like [`Trainer::fit`], and shows the compiled step and the memory of the run before it
    /// begins: to print its plan, for example.
    ///
    /// # Errors
    /// As [`Trainer::fit`].
    pub fn fit_announced(
        &self,
        data: &Split,
        announce: impl FnOnce(&Engine, &RunMemory),
    ) -> Result<Outcome> {
        self.settings.check()?;
        let _listening = self.interruptible.then(interrupt::Listening::start);
        let run = Run::start(self, data)?;
        announce(run.engine(), &run.memory());
        run.finish_training()
    }
}
