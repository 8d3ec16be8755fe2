//! `spikelet train`

use super::{examples, path_text, pipeline_text, plan_json, settings_text, summary};
use crate::args::{
    AugmentArgs, DeviceArgs, NetworkArgs, ParallelArgs, PipelineArgs, ScheduleArgs, SettingsArgs,
    TrainingDataArgs, TutorialArgs, count, described, positive, up_to,
};
use crate::failure::Failure;
use serde_json::json;
use spikelet::data::Split;
use spikelet::log::console::{duration, percent, thousands};
use spikelet::log::{Console, Output};
use spikelet::network::Network;
use spikelet::parallel::{Group, Role};
use spikelet::train::{Outcome, Settings, Trainer};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// What shells report of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Train a network
///
/// Writes into the folder of the run: best.safetensors (the weights of the best epoch),
/// last.safetensors (all that `--resume` needs), epochs.jsonl and TensorBoard curves, and
/// report.svg. Ctrl-C saves and ends the run (exit code 130); `--resume` goes on.
///
/// With `--data-parallel N`, or under torchrun, srun or mpirun, several processes train one network;
/// when one fails, all end with its message (exit code 4 for the others).
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet train" => "mnist-fc on synthetic digits: needs no files",
    "spikelet train --dataset mnist --download --epochs 20" => "on MNIST, fetched if it is not there",
    "spikelet train --tutorial --download" => "as in SpikingFlow's tutorial: 1000 epochs of MNIST",
    "spikelet train csnn --dataset fashion-mnist --amp" => "a convolutional network in 16 bits",
    "spikelet train cifar10-net --augment crop=4,flip --normalise auto" => "with images changed by chance",
    "spikelet train --neuron plif --set init_tau=4 --surrogate sigmoid" => "with another neuron",
    "spikelet train csnn --data-parallel 4 --batch-size 64" => "on four GPUs of this host, 256 images a step",
    "spikelet train --data-parallel 2 --device cpu" => "as two processes that share the cores",
    "spikelet train cifar10-net --pipeline 0,1,2,0,3 --split-size 16" => "cut over four GPUs, one of which comes again",
    "spikelet train cifar10-net --pipeline cpu:0,cpu:1 --constant-input" => "over two halves of the cores, without an encoder",
    "spikelet train --out runs/long --epochs 100 --resume" => "go on where the run was ended",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    start: TutorialArgs,

    #[command(flatten)]
    data: TrainingDataArgs,

    /// Threads that prepare batches [default: one, with --augment one for each core up to 8]
    #[arg(help_heading = "Data", long, short = 'j', value_name = "N", value_parser = loader_threads)]
    loader_threads: Option<usize>,

    #[arg(help_heading = "Training", help = described("Passes over the training images", |s| s.epochs.to_string()), long, short, value_name = "N", value_parser = count)]
    epochs: Option<usize>,

    #[arg(help_heading = "Training", help = described("Learning rate before the schedule", |s| s.learning_rate.to_string()), long = "lr", visible_alias = "learning-rate", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    #[arg(help_heading = "Training", help = described("Seed of weights, shuffles and draws", |s| s.seed.to_string()), long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    schedule: ScheduleArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    images: AugmentArgs,

    /// Folder of the run [default: runs/NETWORK]
    #[arg(help_heading = "Output", long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write what --resume needs at least this often, in seconds
    #[arg(help_heading = "Output", long, value_name = "S", default_value_t = 20.0, value_parser = positive)]
    checkpoint_seconds: f64,

    /// Go on from the run's last checkpoint
    #[arg(help_heading = "Output", long)]
    resume: bool,

    #[command(flatten)]
    device: DeviceArgs,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    pipeline: PipelineArgs,

    /// Write when each device did what in a step of the pipeline, in Chrome's trace format
    #[arg(
        help_heading = "Pipeline",
        long,
        value_name = "FILE",
        requires = "pipeline"
    )]
    trace: Option<PathBuf>,
}

/// More than any machine has cores.
const MOST_LOADER_THREADS: usize = 1024;

fn loader_threads(text: &str) -> Result<usize, String> {
    up_to(MOST_LOADER_THREADS, text)
}

/// A process among several.
struct Rank {
    group: Arc<Group>,
    device: String,
}

impl Train {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (network, settings) = self.network.build(self.start)?;
        let mut settings = self.settings_over(settings)?;
        self.parallel.put(&mut settings);
        self.pipeline.put(&mut settings);
        settings.check()?;
        match self.parallel.role()? {
            Role::Alone => self.train(&network, settings, None, console),
            Role::Launch(ranks) => self.parallel.launch(ranks, &self.device),
            Role::Rank(world) => {
                let quiet = world.rank > 0;
                let found = (self.parallel).meet(
                    world,
                    &self.device,
                    &network,
                    &settings,
                    &self.data.meant(self.start.dataset(&network)),
                )?;
                let (group, device) = found;
                let quiet = quiet.then(|| Console::new(Output::Quiet));
                let rank = Rank {
                    group: group.clone(),
                    device,
                };
                let console = quiet.as_ref().unwrap_or(console);
                group.run(|| self.train(&network, settings, Some(rank), console))
            }
        }
    }

    fn train(
        self,
        network: &Network,
        mut settings: Settings,
        rank: Option<Rank>,
        console: &Console,
    ) -> Result<ExitCode, Failure> {
        let folder = self
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(network.name()));
        let otherwise = self.start.dataset(network);
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
                let own = (self.device.clone()).of_rank(device.clone(), group.world().ranks_here());
                let backend = group.open_device(device, own.threads)?;
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
            "device": backend.name(), "threads": device.thread_count(), "folder": path_text(&folder),
            "ranks": rank.as_ref().map_or(1, |rank| rank.group.world().size),
        });
        let mut trainer = Trainer::network(network, settings)?;
        if let Some(rank) = rank {
            trainer = trainer.group(rank.group);
        }
        if let Some(pipeline) = pipeline {
            trainer = trainer.pipeline(pipeline);
        }
        let outcome = trainer
            .backend(backend)
            .loader_threads(self.loader_threads.unwrap_or(0))
            .folder(&folder)
            .resume(self.resume)
            .checkpoint_every(Duration::from_secs_f64(self.checkpoint_seconds.min(1e9)))
            .output(console.output())
            .interruptible(true)
            .fit_announced(&data, |engine, memory| {
                if let Some(step) = engine.one() {
                    let plan = step.program().plan();
                    console.say(summary(plan, memory));
                    start["plan"] = plan_json(plan);
                }
                start["peak_bytes"] = json!(memory.peak);
                start["evaluation_batch"] = json!(memory.evaluation_batch);
                if let Some((step, layout)) = engine.pipeline() {
                    console.say(pipeline_text::describe(step, layout));
                    start["pipeline"] = pipeline_text::json_of(step, layout);
                }
                console.say_json(&start);
            })?;
        finish(console, &outcome);
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
        settings.schedule = self.schedule.build(settings.schedule)?;
        Ok(settings)
    }
}

fn describe(data: &Split) -> String {
    let [train, test] = [&data.train, &data.test].map(|part| thousands(part.len() as u64));
    format!("{} ({train} + {test})", data.train.name)
}

/// `data parallel: 4 ranks on 2 hosts · 4 × 64 = 256 images a step`
fn describe_ranks(group: &Group, batch_size: usize) -> String {
    let ranks = group.world().size;
    let hosts = group.hosts().iter().collect::<BTreeSet<_>>().len();
    format!(
        "data parallel: {ranks} ranks on {hosts} host{} · {ranks} × {batch_size} = {} images a step",
        if hosts == 1 { "" } else { "s" },
        thousands((ranks * batch_size) as u64),
    )
}

fn finish(console: &Console, outcome: &Outcome) {
    console.say_json(&json!({
        "event": if outcome.interrupted { "interrupted" } else { "done" },
        "epochs": outcome.history.len(),
        "test_accuracy": outcome.test_accuracy,
        "best_accuracy": outcome.best_accuracy,
        "seconds": outcome.seconds,
        "images_per_second": outcome.images_per_second,
        "peak_bytes": outcome.peak_bytes,
        "checkpoint": outcome.checkpoint.as_deref().map(path_text),
        "picture": outcome.picture.as_deref().map(path_text),
    }));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
    if outcome.interrupted {
        console.say(format!(
            "interrupted after {} epochs and saved; go on with the same command and --resume",
            outcome.history.len()
        ));
        return;
    }
    let checkpoint = path(&outcome.checkpoint)
        .map(|p| format!(" · checkpoint {p}"))
        .unwrap_or_default();
    console.say(format!(
        "{} in {} · test accuracy {}{checkpoint}",
        console.green("done"),
        duration(outcome.seconds),
        percent(outcome.test_accuracy).trim_start(),
    ));
    if let Some(picture) = path(&outcome.picture) {
        console.say(format!("picture: {picture}"));
    }
}
