//! An experiment on the command line.

use super::{
    AugmentArgs, DeviceArgs, NetworkArgs, ParallelArgs, PipelineArgs, PresetArgs, ScheduleArgs,
    SettingsArgs, TrainingDataArgs, count, described, given_twice, positive, share, up_to,
    with_classes_of_data,
};
use crate::failure::Failure;
use spikelet::train::Checkpoint;
use spikelet::train::experiment::{Experiment, LayerMonitors};
use std::path::{Path, PathBuf};

/// A network, its data, its settings and its devices.
#[derive(clap::Args, Debug)]
pub struct ExperimentArgs {
    #[command(flatten)]
    pub network: NetworkArgs,

    #[command(flatten)]
    pub start: PresetArgs,

    #[command(flatten)]
    pub data: TrainingDataArgs,

    /// Number of threads that load and augment batches [default: 1; with --augment one per core, at
    /// most 8]
    #[arg(hide_short_help = true, help_heading = "Data", long, short = 'j', visible_alias = "workers", value_name = "N", value_parser = loader_threads)]
    loader_threads: Option<usize>,

    #[arg(help_heading = "Training", help = "Number of epochs", long_help = described("Number of epochs", |s| s.epochs.to_string()), long, short, value_name = "N", value_parser = count)]
    epochs: Option<usize>,

    #[arg(help_heading = "Training", help = "Base learning rate", long_help = described("Base learning rate", |s| s.optimizer.lr().to_string()), long = "lr", visible_alias = "learning-rate", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    lr: Option<f64>,

    #[arg(help_heading = "Training", help = "Random seed of weights, shuffling and encoders", long_help = described("Random seed of weights, shuffling and encoders", |s| s.seed.to_string()), long, value_name = "N")]
    seed: Option<u64>,

    /// Start from the weights of another run or of PyTorch
    ///
    /// FILE is a checkpoint of `spikelet train` or of PyTorch, safetensors or .npz. Names may be those of SpikingJelly,
    /// snnTorch, Norse or sparch. If the number of classes differs, the last layer is a new one. The output lists what is
    /// new, left over, or of other constants.
    #[arg(help_heading = "Training", long, value_name = "FILE")]
    init_from: Option<PathBuf>,

    #[command(flatten)]
    schedule: ScheduleArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    images: AugmentArgs,

    #[arg(hide_short_help = true, help_heading = "Training", help = described("Fraction of the training images held out to select the best epoch, the same for all seeds; 0: train on all images and keep the last epoch", |s| s.validation.to_string()), long, value_name = "FRACTION", value_parser = share)]
    validation: Option<f64>,

    /// Number of training steps between two points of the training curves [default: 50]
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "N", value_parser = count)]
    curve_steps: Option<usize>,

    /// Measure values of layers: rate, neurons, potential, synaptic_operations, gradient, or all; of
    /// chosen layers or parameters as in rate=fc.*
    ///
    /// A list, separated by commas. rate: spikes for each neuron and time step. neurons: fractions that
    /// never and always fire, in evaluations. potential: mean, deviation and distance to the threshold,
    /// in evaluations. synaptic_operations: number for a sample, of each layer with weights, in
    /// evaluations. gradient: norm for each parameter, in training. The values are in epochs.jsonl and in
    /// the curves.
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_name = "LIST",
        value_delimiter = ','
    )]
    monitor: Vec<LayerMonitors>,

    /// Maximum time between two checkpoints for --resume, in seconds [default: 20]
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "S", value_parser = positive)]
    checkpoint_seconds: Option<f64>,

    #[command(flatten)]
    pub device: DeviceArgs,

    #[command(flatten)]
    pub parallel: ParallelArgs,

    #[command(flatten)]
    pub pipeline: PipelineArgs,
}

/// The largest number of loader threads.
const MOST_LOADER_THREADS: usize = 1024;

fn loader_threads(text: &str) -> Result<usize, String> {
    up_to(MOST_LOADER_THREADS, text)
}

impl ExperimentArgs {
    /// The arguments without the name or the file of the network.
    pub fn without_network(mut self) -> Self {
        self.network.forget_name();
        self
    }

    /// The experiment: that of the resumed run, with its folder or a checkpoint in it, of the file, of the preset or the defaults, with the given options.
    ///
    /// # Errors
    /// When a file is wrong, or an option does not fit the others.
    pub fn build(&self, resumed: Option<(&Path, &Checkpoint)>) -> Result<Experiment, Failure> {
        let run = resumed.map(|(run, checkpoint)| Experiment::of_run(run, checkpoint));
        let run = run.transpose()?;
        let detects = !self.network.sets("data.dataset");
        let data = |experiment: &mut Experiment| self.data.put(experiment, detects);
        let mut experiment = match run.flatten() {
            None => self.network.build_with(self.start, data)?,
            Some(run) => self.network.build_resumed(self.start, run, data)?,
        };
        if resumed.is_none() {
            experiment = with_classes_of_data(experiment, &self.data, self.network.is_recipe());
        }
        let threads = &mut experiment.data.loader_threads;
        *threads = self.loader_threads.or(*threads);
        let settings = &mut experiment.settings;
        *settings = self.settings.build(settings.clone())?;
        settings.epochs = self.epochs.unwrap_or(settings.epochs);
        if let Some(lr) = self.lr {
            if self.settings.names_lr() {
                return Err(given_twice("lr", "--lr"));
            }
            settings.optimizer = settings.optimizer.with_lr(lr).into();
        }
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.validation = self.validation.unwrap_or(settings.validation);
        settings.schedule = self.schedule.build(settings.schedule.clone())?;
        experiment.init_from = self.init_from.clone().or(experiment.init_from);
        self.images.put(&mut experiment);
        self.device.put(&mut experiment.device);
        self.parallel.put(&mut experiment);
        self.pipeline.put(&mut experiment);
        let output = &mut experiment.output;
        output.curve_steps = self.curve_steps.unwrap_or(output.curve_steps);
        let seconds = self.checkpoint_seconds;
        output.checkpoint_seconds = seconds.unwrap_or(output.checkpoint_seconds);
        if !self.monitor.is_empty() {
            output.monitor.clone_from(&self.monitor);
        }
        experiment.settings.check()?;
        Ok(experiment)
    }
}
