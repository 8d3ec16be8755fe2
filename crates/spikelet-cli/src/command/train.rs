//! `spikelet train`

use super::{StepProgram, examples};
use crate::args::{DataArgs, DataName, DeviceArgs, NetworkArgs, SettingsArgs, count, positive};
use crate::failure::Failure;
use serde_json::json;
use spikelet::data::Split;
use spikelet::log::Console;
use spikelet::log::console::{duration, percent, thousands};
use spikelet::optim::Schedule;
use spikelet::train::{Outcome, Settings, Trainer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    "spikelet train --data mnist --download --epochs 20" => "on MNIST, fetched if it is not there",
    "spikelet train --tutorial --data mnist" => "as in SpikingFlow's tutorial",
    "spikelet train --neuron plif --set init_tau=4 --surrogate sigmoid" => "with another neuron",
    "spikelet train --out runs/long --epochs 100 --resume" => "go on where the run was ended",
])]
pub struct Train {
    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    data: DataArgs,

    /// Passes over the training images
    #[arg(long, short, value_name = "N", value_parser = count)]
    epochs: Option<usize>,

    /// Learning rate before the schedule
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    /// How the learning rate goes with training
    #[arg(long, value_name = "NAME", value_parser = ["constant", "cosine"])]
    schedule: Option<String>,

    /// Seed of weights, shuffles and draws
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Folder of the run [default: runs/NETWORK]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Go on from the run's last checkpoint
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Train {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let network = self.network.build()?;
        let settings = self.all_settings();
        settings.check()?;
        let folder = self
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(network.name()));
        let data = self.data.load(DataName::Synthetic, console)?;
        let backend = self.device.open()?;
        let program = StepProgram::compile(&network, &settings, data.train.shape, backend.clone())?;
        console.say(format!(
            "spikelet {} · {} on {} · {}, {} threads, {}",
            env!("CARGO_PKG_VERSION"),
            network.name(),
            describe(&data),
            backend.name(),
            self.device.thread_count(),
            spikelet_cpu::Cpu::instructions(),
        ));
        console.say(program.summary());
        console.say_json(&json!({
            "event": "start", "version": env!("CARGO_PKG_VERSION"), "network": network, "settings": settings,
            "dataset": data.train.name, "train_images": data.train.len(), "test_images": data.test.len(),
            "device": backend.name(), "threads": self.device.thread_count(), "plan": program.json(),
            "folder": folder,
        }));
        drop(program);
        let outcome = Trainer::network(&network, settings)?
            .backend(backend)
            .folder(&folder)
            .resume(self.resume)
            .output(console.output())
            .interruptible(true)
            .fit(&data)?;
        finish(console, &outcome);
        Ok(if outcome.interrupted {
            ExitCode::from(INTERRUPTED)
        } else {
            ExitCode::SUCCESS
        })
    }

    fn all_settings(&self) -> Settings {
        let mut settings = self.settings.build(self.network.tutorial);
        settings.epochs = self.epochs.unwrap_or(settings.epochs);
        settings.learning_rate = self.learning_rate.unwrap_or(settings.learning_rate);
        settings.seed = self.seed.unwrap_or(settings.seed);
        match self.schedule.as_deref() {
            Some("constant") => settings.schedule = Schedule::Constant,
            Some(_) => settings.schedule = Schedule::Cosine { least: 0.0 },
            None => {}
        }
        settings
    }
}

fn describe(data: &Split) -> String {
    let [train, test] = [&data.train, &data.test].map(|part| thousands(part.len() as u64));
    format!("{} ({train} + {test})", data.train.name)
}

fn finish(console: &Console, outcome: &Outcome) {
    console.say_json(&json!({
        "event": if outcome.interrupted { "interrupted" } else { "end" },
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
