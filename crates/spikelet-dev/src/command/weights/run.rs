//! `spikelet-dev weights run`

use crate::weights::{NAMES, run};
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};
use spikelet::log::Console;
use spikelet::tensors::TensorFile;
use spikelet_cli::args::open_device;
use spikelet_cli::command::{examples, path_text, same_file};
use spikelet_cli::failure::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a reference network of another framework on weights of that framework
///
/// The networks are built of spikelet's layers and neurons; the map of their framework gives the names of the tensors.
/// Sizes and the stored constants of neurons follow from the weights. The output has `spikes/<layer>` of every layer of
/// neurons and, for snnTorch's networks, `v/<layer>`.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev weights run --network snntorch_mlp --weights snntorch_mlp.pt --input x.safetensors --out ours.safetensors" => "on the CPU",
    "spikelet-dev weights run --network norse_recurrent --weights norse_recurrent.pt --input x.safetensors --out ours.safetensors --device cuda:0" => "on a GPU",
])]
pub struct Run {
    /// Network
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(NAMES))]
    network: String,

    /// Checkpoint of PyTorch, safetensors or .npz
    #[arg(long, value_name = "FILE")]
    weights: PathBuf,

    /// Safetensors file with the input `x`, [T, N, …]
    #[arg(long, value_name = "FILE")]
    input: PathBuf,

    /// Output file: safetensors
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Device: cpu, cuda, or cuda:1 for the second GPU
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: String,

    /// Number of threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

impl Run {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        for input in [&self.input, &self.weights] {
            if same_file(input, &self.out) {
                return Err(Failure::argument(
                    format!("--out {} is an input", self.out.display()),
                    "give another file for the result",
                ));
            }
        }
        let weights = spikelet::weights::Weights::read(&self.weights)?;
        let input = TensorFile::read(&self.input)?;
        let backend = open_device(&self.device, self.threads)?;
        let device = backend.name();
        let tensors = run(&self.network, weights, input.get("x")?, backend)?;
        let shapes: Map<String, Value> = (tensors.iter())
            .map(|(name, tensor)| (name.clone(), json!(tensor.shape)))
            .collect();
        let results = TensorFile {
            tensors,
            ..TensorFile::default()
        };
        results.write(&self.out)?;
        console.say_json(&json!({
            "network": self.network, "weights": path_text(&self.weights), "out": path_text(&self.out), "device": device,
            "tensors": shapes,
        }));
        console.say(format!(
            "{}: {} tensors in {} (on {device})",
            self.network,
            results.tensors.len(),
            self.out.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
