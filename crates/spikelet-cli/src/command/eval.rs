//! `spikelet eval`

use super::given::{GivenArgs, Labels};
use super::{examples, labeled_text, path_text};
use crate::args::EvaluationArgs;
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::{duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::{Evaluation, evaluate};
use std::process::ExitCode;
use std::time::Instant;

/// Evaluate a trained network on the test samples, or on files of your own
///
/// Files are read as `spikelet predict` reads them. The label of a file is the class whose name its
/// folder has, as in photos/cat/1.png, or --label.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet eval runs/mnist-fc/latest/best.safetensors" => "on the data set it was trained on",
    "spikelet eval best.safetensors --dataset mnist --data-dir /data" => "on another data set",
    "spikelet eval best.safetensors photos" => "on files of your own, in a folder for each class",
    "spikelet eval best.safetensors a.png b.png --label 7" => "on files of one class",
])]
pub struct Eval {
    #[command(flatten)]
    evaluation: EvaluationArgs,

    #[command(flatten)]
    given: GivenArgs,

    /// Class of all files [default: the names of their folders]
    #[arg(long, value_name = "CLASS", requires = "files")]
    label: Option<String>,
}

impl Eval {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let labels = Labels::Needed(self.label.as_deref());
        let (mut trained, settings, test) =
            self.given.evaluated(&self.evaluation, labels, console)?;
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
