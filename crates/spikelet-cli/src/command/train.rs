//! `spikelet train`

use super::{examples, plan_json, summary};
use crate::args::{
    AugmentArgs, DataArgs, DeviceArgs, NetworkArgs, ScheduleArgs, SettingsArgs, TutorialArgs,
    count, described, positive,
};
use crate::failure::Failure;
use serde_json::json;
use spikelet::data::Split;
use spikelet::log::Console;
use spikelet::log::console::{duration, percent, thousands};
use spikelet::train::{Outcome, Settings, Trainer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What shells report of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Train a network
///
/// Writes into the folder of the run: best.safetensors (the weights of the best epoch),
/// last.safetensors (all that `--resume` needs), epochs.jsonl and TensorBoard curves, and
/// report.svg. Ctrl-C saves and ends the run (exit code 130); `--resume` goes on.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet train" => "mnist-fc on synthetic digits: needs no files",
    "spikelet train --dataset mnist --download --epochs 20" => "on MNIST, fetched if it is not there",
    "spikelet train --tutorial --dataset mnist" => "as in SpikingFlow's tutorial",
    "spikelet train csnn --dataset fashion-mnist --amp" => "a convolutional network in 16 bits",
    "spikelet train cifar10-net --augment crop=4,flip --normalise auto" => "with images changed by chance",
    "spikelet train --neuron plif --set init_tau=4 --surrogate sigmoid" => "with another neuron",
    "spikelet train --out runs/long --epochs 100 --resume" => "go on where the run was ended",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    start: TutorialArgs,

    #[command(flatten)]
    data: DataArgs,

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
}

impl Train {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (network, settings) = self.network.build(self.start)?;
        let mut settings = self.settings_over(settings)?;
        settings.check()?;
        let folder = self
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(network.name()));
        let data = self.data.load(None, &network, console)?;
        self.images.put(&mut settings, &data.train)?;
        let backend = self.device.open()?;
        console.say(format!(
            "spikelet {} · {} on {} · {}",
            env!("CARGO_PKG_VERSION"),
            network.name(),
            describe(&data),
            self.device.describe(&*backend),
        ));
        let mut start = json!({
            "event": "start", "version": env!("CARGO_PKG_VERSION"), "network": network, "settings": settings,
            "dataset": data.train.name, "train_images": data.train.len(), "test_images": data.test.len(),
            "device": backend.name(), "threads": self.device.thread_count(), "folder": folder,
        });
        let outcome = Trainer::network(&network, settings)?
            .backend(backend)
            .folder(&folder)
            .resume(self.resume)
            .checkpoint_every(Duration::from_secs_f64(self.checkpoint_seconds.min(1e9)))
            .output(console.output())
            .interruptible(true)
            .fit_announced(&data, |step| {
                let plan = step.program().plan();
                console.say(summary(plan));
                start["plan"] = plan_json(plan);
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

fn finish(console: &Console, outcome: &Outcome) {
    console.say_json(&json!({
        "event": if outcome.interrupted { "interrupted" } else { "done" },
        "epochs": outcome.history.len(),
        "test_accuracy": outcome.test_accuracy,
        "best_accuracy": outcome.best_accuracy,
        "seconds": outcome.seconds,
        "images_per_second": outcome.images_per_second,
        "peak_bytes": outcome.peak_bytes,
        "checkpoint": outcome.checkpoint,
        "picture": outcome.picture,
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
