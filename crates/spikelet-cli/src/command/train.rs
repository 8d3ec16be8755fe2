//! `spikelet train`

pub mod arguments;
mod seeds;

use super::{examples, path_text, pipeline_text, plan_json, settings_text, summary};
use crate::args::{
    AugmentArgs, DataName, DeviceArgs, Monitors, NetworkArgs, ParallelArgs, PipelineArgs,
    PresetArgs, ScheduleArgs, SettingsArgs, TrainingDataArgs, count, described, positive, share,
    up_to,
};
use crate::failure::Failure;
use seeds::Seeds;
use serde_json::json;
use spikelet::data::Split;
use spikelet::distributed::{RankGroup, Role};
use spikelet::human::{duration, percent, thousands};
use spikelet::log::{Console, Output};
use spikelet::network::Network;
use spikelet::pipeline::PipelineEngine;
use spikelet::train::{
    BuildEngine, Checkpoint, FitReport, Settings, TrainStep, Trainer, latest_run,
};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: u8 = 130;

/// Train a network
///
/// Each run writes into its own folder, such as runs/mnist-fc/2026-11-22-001; runs/mnist-fc/latest
/// is a link to the newest. Files: best.safetensors (the weights of the epoch with the best
/// validation accuracy), last.safetensors (the complete state for `--resume`), epochs.jsonl,
/// TensorBoard curves, report.svg. Ctrl-C saves and ends the run (exit code 130); `--resume`
/// continues it.
///
/// With `--data-parallel N`, or under torchrun, srun or mpirun, several processes train one network;
/// if one fails, all end with its message (exit code 4 for the others).
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet train" => "mnist-fc on generated digits: needs no files",
    "spikelet train --dataset mnist --download --epochs 20" => "on MNIST, downloaded if it is missing",
    "spikelet train --preset spikingflow --download" => "with the settings of SpikingFlow: 1000 epochs of MNIST",
    "spikelet train csnn --dataset fashion-mnist --amp" => "a convolutional network in 16 bits",
    "spikelet train cifar10-net --augment crop=4,flip --normalize auto" => "with augmentation",
    "spikelet train resnet18 --normalize auto --validation 0 --amp" => "a residual network on all images of CIFAR-10",
    "spikelet train --neuron plif --set init_tau=4 --surrogate sigmoid" => "with another neuron",
    "spikelet train csnn --data-parallel 4 --batch-size 64" => "on four GPUs of this host, 256 images a step",
    "spikelet train --data-parallel 2 --device cpu" => "in two processes that share the cores",
    "spikelet train cifar10-net --pipeline 0,1,2,0,3 --split-size 16" => "as a pipeline of five stages on four GPUs",
    "spikelet train cifar10-net --pipeline cpu:0,cpu:1 --static-input" => "as a pipeline on the two halves of the cores, without an encoder",
    "spikelet train --resume" => "continue the latest run of mnist-fc",
    "spikelet train --seeds 0..3 --epochs 2" => "with three seeds: mean and standard deviation",
    "spikelet train --resume runs/csnn/latest" => "continue that run, with its network, settings and data",
    "spikelet train --out runs/mine --force" => "into a given folder, replacing the run in it",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    start: PresetArgs,

    #[command(flatten)]
    data: TrainingDataArgs,

    /// Number of threads that load and augment batches [default: 1; with --augment one per core, at
    /// most 8]
    #[arg(hide_short_help = true, help_heading = "Data", long, short = 'j', visible_alias = "workers", value_name = "N", value_parser = loader_threads)]
    loader_threads: Option<usize>,

    #[arg(help_heading = "Training", help = "Number of epochs", long_help = described("Number of epochs", |s| s.epochs.to_string()), long, short, value_name = "N", value_parser = count)]
    epochs: Option<usize>,

    #[arg(help_heading = "Training", help = "Base learning rate", long_help = described("Base learning rate", |s| s.learning_rate.to_string()), long = "lr", visible_alias = "learning-rate", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    #[arg(help_heading = "Training", help = "Random seed of weights, shuffling and encoders", long_help = described("Random seed of weights, shuffling and encoders", |s| s.seed.to_string()), long, value_name = "N")]
    seed: Option<u64>,

    /// Train once with each of these seeds: 0..5 (0 to 4), 0..=4, or 1,5,7
    ///
    /// The runs are trained one after another, in folders such as
    /// runs/mnist-fc/seeds/2026-11-22-001/seed-0. Prints the accuracy of each seed, the mean and the
    /// sample standard deviation (n − 1). Runs that were interrupted or killed are continued by
    /// `--resume` with the folder of all seeds.
    #[arg(help_heading = "Training", long, value_name = "SEEDS", conflicts_with_all = ["seed", "force"])]
    seeds: Option<Seeds>,

    #[command(flatten)]
    schedule: ScheduleArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    images: AugmentArgs,

    #[arg(hide_short_help = true, help_heading = "Training", help = described("Fraction of the training images held out to select the best epoch, the same for all seeds; 0: train on all images and keep the last epoch", |s| s.validation.to_string()), long, value_name = "FRACTION", value_parser = share)]
    validation: Option<f64>,

    /// Folder of the run [default: a new one in runs/NETWORK]
    ///
    /// The default is named by date and number.
    #[arg(help_heading = "Output", long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Replace the run in --out
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        requires = "out",
        conflicts_with = "resume"
    )]
    force: bool,

    /// Number of training steps between two points of the training curves
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "N", default_value_t = 50, value_parser = count)]
    curve_steps: usize,

    /// Measure values of layers: rate, neurons, potential, gradient, or all; of chosen layers or
    /// parameters as in rate=fc.*
    ///
    /// A list, separated by commas. rate: spikes for each neuron and time step. neurons: fractions that
    /// never and always fire, in evaluations. potential: mean, deviation and distance to the threshold,
    /// in evaluations. gradient: norm for each parameter, in training. The values are in epochs.jsonl
    /// and in the curves.
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "LIST", value_delimiter = ',', value_parser = Monitors::parse)]
    monitor: Vec<Monitors>,

    /// Maximum time between two checkpoints for --resume, in seconds
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "S", default_value_t = 20.0, value_parser = positive)]
    checkpoint_seconds: f64,

    /// Resume a run from its last checkpoint [default: the latest run]
    ///
    /// RUN is a folder or one of its checkpoints; without it, the run in --out, or else the latest
    /// run of the network. Network, settings and data are those of the run.
    #[arg(help_heading = "Output", long, value_name = "RUN", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,

    #[command(flatten)]
    device: DeviceArgs,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    pipeline: PipelineArgs,

    /// Write a timeline of one step of the pipeline, in Chrome's trace format
    #[arg(
        hide_short_help = true,
        help_heading = "Pipeline",
        long,
        value_name = "FILE",
        requires = "pipeline"
    )]
    trace: Option<PathBuf>,
}

/// The largest number of loader threads.
const MOST_LOADER_THREADS: usize = 1024;

fn loader_threads(text: &str) -> Result<usize, String> {
    up_to(MOST_LOADER_THREADS, text)
}

/// One of several processes.
struct Rank {
    group: Arc<RankGroup>,
    device: String,
}

/// The folder of a run.
enum Target {
    /// This folder.
    At(PathBuf),
    /// A new folder in this one.
    NewIn(PathBuf),
    /// That of the resumed run: a folder, or a checkpoint in it.
    Resume(PathBuf),
}

/// A training job.
struct Job<'a> {
    network: &'a Network,
    target: Target,
    /// The data set without --dataset.
    otherwise: Option<DataName>,
}

/// The checkpoint of a resumed run. Ranks other than 0 may have no access to the file: they take the
/// options of the command line, which rank 0 compares.
fn resumed(run: &Path, leads: bool) -> Result<Option<Checkpoint>, Failure> {
    match Checkpoint::from_run(run) {
        Ok(checkpoint) => Ok(Some(checkpoint)),
        Err(_) if !leads => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Train {
    /// The folder of the run.
    fn target(&self, leads: bool) -> Result<Target, Failure> {
        let runs = || Path::new("runs").join(self.network.name());
        Ok(match (&self.resume, &self.out) {
            (None, Some(folder)) => Target::At(folder.clone()),
            (None, None) => Target::NewIn(runs()),
            (Some(None), Some(folder)) => Target::Resume(folder.clone()),
            (Some(Some(run)), None) => Target::Resume(run.clone()),
            (Some(None), None) => match latest_run(runs()) {
                Ok(run) => Target::Resume(run),
                // Only rank 0 reads the folder.
                Err(_) if !leads => Target::Resume(runs()),
                Err(error) => return Err(error.into()),
            },
            (Some(Some(run)), Some(folder)) => {
                return Err(Failure::argument(
                    format!(
                        "--resume names the run {}, --out the folder {}",
                        run.display(),
                        folder.display()
                    ),
                    "a run continues in its own folder: leave --out out",
                ));
            }
        })
    }

    /// The network, the settings and the data set to start from: those of the resumed run,
    /// of the preset, or the defaults.
    fn start_from(
        &self,
        resumed: Option<&Checkpoint>,
    ) -> Result<(Network, Settings, Option<DataName>), Failure> {
        let theirs = match resumed {
            Some(run) => {
                let settings = run.settings()?.clone();
                run.network().map(|network| (network.clone(), settings))
            }
            None => None,
        };
        let (network, settings) = match theirs {
            None => self.network.build(self.start)?,
            Some(theirs) => self.network.build_resumed(self.start, theirs)?,
        };
        let data = resumed.and_then(|run| DataName::of_dataset(&run.dataset.name));
        let otherwise = self.start.dataset(&network).or(data);
        let network = match resumed {
            None => self.data.with_its_classes(otherwise, network),
            Some(_) => network,
        };
        Ok((network, settings, otherwise))
    }

    pub fn run(mut self, console: &Console) -> Result<ExitCode, Failure> {
        let role = self.parallel.role()?;
        let series = seeds::Request {
            seeds: self.seeds.as_ref(),
            out: self.out.as_deref(),
            resume: self.resume.as_ref().map(Option::as_deref),
            parent: Path::new("runs").join(self.network.name()).join("seeds"),
            is_rank: matches!(&role, Role::Rank(_)),
        };
        if let Some(code) = series.run(console)? {
            return Ok(code);
        }
        let leads = !matches!(&role, Role::Rank(world) if world.rank > 0);
        let target = self.target(leads)?;
        let resumed = match &target {
            Target::Resume(run) => resumed(run, leads)?,
            _ => None,
        };
        let start = self.start_from(resumed.as_ref())?;
        let (network, settings, otherwise) = start;
        if let Some(run) = &resumed {
            self.data = self.data.of_run(&run.dataset);
        }
        let mut settings = self.settings_over(settings)?;
        self.parallel.put(&mut settings);
        self.pipeline.put(&mut settings);
        settings.check()?;
        let job = Job {
            network: &network,
            target,
            otherwise,
        };
        match role {
            Role::Single => self.train(job, settings, None, console),
            Role::Launch(ranks) => self.parallel.launch(ranks, &self.device),
            Role::Rank(world) => {
                let quiet = world.rank > 0;
                let found = (self.parallel).meet(
                    world,
                    &self.device,
                    &network,
                    &settings,
                    &self.data.meant(otherwise),
                )?;
                let (group, device) = found;
                let quiet = quiet.then(|| Console::new(Output::Quiet));
                let rank = Rank {
                    group: group.clone(),
                    device,
                };
                let console = quiet.as_ref().unwrap_or(console);
                group.run(|| self.train(job, settings, Some(rank), console))
            }
        }
    }

    fn train(
        self,
        job: Job<'_>,
        mut settings: Settings,
        rank: Option<Rank>,
        console: &Console,
    ) -> Result<ExitCode, Failure> {
        let Job {
            network,
            target,
            otherwise,
        } = job;
        let data = match &rank {
            None => self.data.load(otherwise, network, console)?,
            Some(rank) => (self.data).load_on_rank(otherwise, network, console, &rank.group)?,
        };
        self.images.put(&mut settings, &data.train)?;
        let pipeline = self
            .pipeline
            .options(&settings, &self.device, self.trace.clone())?;
        let first = pipeline.as_ref().and_then(|p| p.first_device().cloned());
        let (device, backend) = match &rank {
            None => {
                let backend = first.map_or_else(|| self.device.open(), Ok)?;
                (self.device.clone(), backend)
            }
            Some(Rank { group, device }) => {
                let own =
                    (self.device.clone()).of_rank(device.clone(), group.world().ranks_on_host());
                let backend = spikelet::device::open_in_group(group, device, own.threads)?;
                (own, backend)
            }
        };
        console.say(format!(
            "spikelet {} · {} on {} · {}",
            env!("CARGO_PKG_VERSION"),
            self.start.describe(network.name()),
            describe(&data),
            device.describe(&*backend),
        ));
        if let Some(rank) = &rank {
            console.say(describe_ranks(&rank.group, settings.batch_size));
        }
        console.say(console.dim(settings_text(network, &settings)));
        let mut start = json!({
            "event": "start", "version": env!("CARGO_PKG_VERSION"), "network": network, "settings": settings,
            "dataset": data.train.name, "train_images": data.train.len(), "test_images": data.test.len(),
            "device": backend.name(), "threads": device.thread_count(),
            "ranks": rank.as_ref().map_or(1, |rank| rank.group.world().size),
        });
        let mut trainer = Trainer::network(network, settings)?;
        for Monitors { which, pattern } in &self.monitor {
            for monitor in which {
                trainer = trainer.monitor_layers(*monitor, pattern);
            }
        }
        if let Some(rank) = rank {
            trainer = trainer.group(rank.group);
        }
        if let Some(pipeline) = pipeline {
            trainer = trainer.engine(pipeline);
        }
        trainer = match target {
            Target::Resume(run) => trainer.resume_from(run),
            Target::At(folder) => trainer.folder(folder).force(self.force),
            Target::NewIn(parent) => trainer.new_folder_in(parent),
        };
        let outcome = trainer
            .backend(backend)
            .loader_threads(self.loader_threads.unwrap_or(0))
            .curve_steps(self.curve_steps as u64)
            .checkpoint_every(Duration::from_secs_f64(self.checkpoint_seconds.min(1e9)))
            .output(console.output())
            .interruptible(true)
            .fit_with(&data, |run| {
                let (engine, memory) = (run.engine, &run.memory);
                start["folder"] = json!(run.folder.map(path_text));
                let engine: &dyn Any = engine;
                if let Some(step) = engine.downcast_ref::<TrainStep>() {
                    let plan = step.program().plan();
                    console.say(summary(plan, memory));
                    start["plan"] = plan_json(plan);
                }
                start["peak_bytes"] = json!(memory.peak);
                start["evaluation_batch"] = json!(memory.evaluation_batch);
                if let Some(pipeline) = engine.downcast_ref::<PipelineEngine>() {
                    let (step, partition) = (pipeline.step(), pipeline.partition());
                    console.say(pipeline_text::describe(step, partition, Some(memory)));
                    start["pipeline"] = pipeline_text::json_of(step, partition);
                }
                console.say_json(&start);
            })?;
        finish(console, &outcome, self.start.is_given());
        Ok(if outcome.interrupted {
            ExitCode::from(INTERRUPTED)
        } else {
            ExitCode::SUCCESS
        })
    }

    fn settings_over(&self, start: Settings) -> Result<Settings, Failure> {
        let mut settings = self.settings.build(start)?;
        settings.epochs = self.epochs.unwrap_or(settings.epochs);
        settings.learning_rate = self.learning_rate.unwrap_or(settings.learning_rate);
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.validation = self.validation.unwrap_or(settings.validation);
        settings.schedule = self.schedule.build(settings.schedule)?;
        Ok(settings)
    }
}

fn describe(data: &Split) -> String {
    let [train, test] = [&data.train, &data.test].map(|part| thousands(part.len() as u64));
    format!("{} ({train} + {test})", data.train.name)
}

/// `data parallel: 4 ranks on 2 hosts · 4 × 64 = 256 images a step`
fn describe_ranks(group: &RankGroup, batch_size: usize) -> String {
    let ranks = group.world().size;
    let hosts = group.hosts().iter().collect::<BTreeSet<_>>().len();
    format!(
        "data parallel: {ranks} ranks on {hosts} host{} · {ranks} × {batch_size} = {} images a step",
        if hosts == 1 { "" } else { "s" },
        thousands((ranks * batch_size) as u64),
    )
}

fn finish(console: &Console, outcome: &FitReport, preset: bool) {
    let path = |path: &Option<PathBuf>| path.as_deref().map(path_text);
    let best = outcome.best();
    let highest = preset.then(|| outcome.highest_test_accuracy());
    console.say_json(&json!({
        "event": if outcome.interrupted { "interrupted" } else { "done" },
        "epochs": outcome.history.len(),
        "epochs_trained": outcome.epochs_trained,
        "test_accuracy": outcome.test_accuracy(),
        "best": best.map(|best| json!({
            "epoch": best.epoch,
            "validation_accuracy": best.validation_accuracy(),
            "test_accuracy": best.test_accuracy(),
        })),
        "highest_test_accuracy": highest,
        "seconds": outcome.seconds,
        "samples_per_second": outcome.samples_per_second,
        "peak_bytes": outcome.peak_bytes,
        "folder": path(&outcome.folder),
        "checkpoint": path(&outcome.checkpoint),
        "picture": path(&outcome.picture),
        "findings": outcome.findings,
    }));
    let epochs = match outcome.history.len() {
        1 => "1 epoch".to_string(),
        many => format!("{many} epochs"),
    };
    if outcome.interrupted {
        let run = path(&outcome.folder).unwrap_or_default();
        console.say(format!(
            "interrupted after {epochs} and saved; resume with: spikelet train --resume {run}"
        ));
        return;
    }
    let test = |accuracy: f64| format!("test accuracy {}", percent(accuracy).trim_start());
    match outcome.epochs_trained {
        0 => console.say(format!(
            "nothing to do: the run has completed its {epochs}; with a constant learning rate, --epochs can be increased"
        )),
        _ => console.say(format!(
            "{} in {} · {} after the last epoch",
            console.green("done"),
            duration(outcome.seconds),
            test(outcome.test_accuracy()),
        )),
    }
    for finding in &outcome.findings {
        console.say(console.yellow(finding));
    }
    if let Some(best) = best {
        let validation = percent(best.validation_accuracy().unwrap_or_default());
        console.say(format!(
            "best by validation: epoch {} · validation accuracy {} · {}",
            best.epoch,
            validation.trim_start(),
            test(best.test_accuracy()),
        ));
    }
    if let Some(highest) = highest {
        console.say(format!(
            "highest {} (selected on the test set, as SpikingJelly reports it)",
            test(highest)
        ));
    }
    if let Some(checkpoint) = path(&outcome.checkpoint) {
        console.say(format!("checkpoint: {checkpoint}"));
    }
    if let Some(picture) = path(&outcome.picture) {
        console.say(format!("picture: {picture}"));
    }
}
