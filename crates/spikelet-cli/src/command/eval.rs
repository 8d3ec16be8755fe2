//! `spikelet eval`

use super::examples;
use crate::args::{DataArgs, DataName, DeviceArgs};
use crate::failure::Failure;
use serde_json::json;
use spikelet::log::Console;
use spikelet::log::console::{duration, percent, thousands};
use spikelet::model::Store;
use spikelet::train::{Checkpoint, evaluate};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Measure a trained network on the test images
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet eval runs/mnist-fc/best.safetensors" => "on the data set it was trained on",
    "spikelet eval best.safetensors --dataset mnist --data-dir /data" => "on another one",
])]
pub struct Eval {
    /// The checkpoint that `spikelet train` wrote
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Eval {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let checkpoint = Checkpoint::read(&self.checkpoint)?;
        let wrong = |problem: String, help: &str| {
            Failure::other(format!("{}: {problem}", self.checkpoint.display()), help)
        };
        let network = checkpoint.network.as_ref().ok_or_else(|| {
            wrong(
                "its network is a program's own".to_string(),
                "evaluate it in that program with `spikelet::train::evaluate`",
            )
        })?;
        let otherwise = match (self.data.data, DataName::of_dataset(&checkpoint.dataset)) {
            (Some(named), _) => named,
            (None, Some(known)) => known,
            (None, None) => {
                let problem = format!(
                    "it was trained on `{}`, which is not known here",
                    checkpoint.dataset
                );
                return Err(wrong(problem, "name a data set with --dataset"));
            }
        };
        let test = self.data.load(otherwise, console)?.test;
        let mut store = Store::new(self.device.open()?);
        checkpoint.restore(&mut store)?;
        let start = Instant::now();
        let (accuracy, loss) =
            evaluate(&*network.module()?, &checkpoint.settings, &test, &mut store)?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(missing) = store
            .names()
            .find(|name| !checkpoint.tensors.tensors.contains_key(*name))
        {
            return Err(wrong(
                format!("it has no tensor `{missing}`"),
                "give a checkpoint of the whole network",
            ));
        }
        console.say_json(&json!({
            "checkpoint": self.checkpoint, "network": network, "dataset": test.name, "images": test.len(),
            "accuracy": accuracy, "loss": loss, "seconds": seconds,
        }));
        console.say(format!(
            "{} on {} ({} images): accuracy {}, loss {loss:.4} · {}",
            network.name(),
            test.name,
            thousands(test.len() as u64),
            console.green(percent(accuracy).trim_start()),
            duration(seconds),
        ));
        Ok(ExitCode::SUCCESS)
    }
}
