//! `spikelet eval`

use super::trained::Trained;
use super::{examples, path_text};
use crate::args::{DataArgs, DeviceArgs, count};
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::{duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::{Evaluation, evaluate};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Evaluate a trained network on the test images
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet eval runs/mnist-fc/latest/best.safetensors" => "on the data set it was trained on",
    "spikelet eval best.safetensors --dataset mnist --data-dir /data" => "on another data set",
])]
pub struct Eval {
    /// Checkpoint written by `spikelet train`
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    /// Batch size of evaluation; affects speed and memory only [default: the largest that fits into
    /// the memory of a training step, at most 500]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    eval_batch_size: Option<usize>,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Eval {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut trained = Trained::open(&self.checkpoint, &self.device)?;
        let test = &trained.test(&self.data, console)?;
        let network = &trained.network;
        let start = Instant::now();
        let mut settings = trained.checkpoint.settings()?.clone();
        settings.evaluation_batch = self.eval_batch_size.or(settings.evaluation_batch);
        let Evaluation { accuracy, loss } =
            evaluate(&*network.module()?, &settings, test, &mut trained.store)?;
        let seconds = start.elapsed().as_secs_f64();
        console.say_json(&json!({
            "checkpoint": path_text(&self.checkpoint), "network": network, "dataset": test.name, "images": test.len(),
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
