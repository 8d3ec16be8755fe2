//! `spikelet eval`

use super::trained::Trained;
use super::{examples, labeled_text, path_text};
use crate::args::EvaluationArgs;
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::{duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::{Evaluation, evaluate};
use std::process::ExitCode;
use std::time::Instant;

/// Evaluate a trained network on the test samples
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet eval runs/mnist-fc/latest/best.safetensors" => "on the data set it was trained on",
    "spikelet eval best.safetensors --dataset mnist --data-dir /data" => "on another data set",
])]
pub struct Eval {
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

impl Eval {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (mut trained, settings, test) = Trained::evaluated(&self.evaluation, console)?;
        let (network, test) = (&trained.network, &test);
        let start = Instant::now();
        let Evaluation {
            accuracy,
            labeled_accuracy,
            loss,
        } = evaluate(
            &*network.module()?,
            &settings,
            test.samples(),
            &mut trained.store,
        )?;
        let seconds = start.elapsed().as_secs_f64();
        console.say_json(&json!({
            "checkpoint": path_text(&trained.path), "network": network, "dataset": test.name(), "images": test.len(),
            "accuracy": accuracy, "labeled_accuracy": labeled_accuracy, "loss": loss, "seconds": seconds,
        }));
        console.say(format!(
            "{} on {} ({} {}s): accuracy {}{}, loss {loss:.4} · {}",
            network.name(),
            test.name(),
            thousands(test.len() as u64),
            test.kind(),
            console.green(percent(accuracy).trim_start()),
            labeled_text(labeled_accuracy),
            duration(seconds),
        ));
        Ok(ExitCode::SUCCESS)
    }
}
