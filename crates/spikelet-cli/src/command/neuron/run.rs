//! `spikelet neuron run`

use crate::args::DeviceArgs;
use crate::command::{examples, path_text, same_file, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::graph::Tensor;
use spikelet::log::Console;
use spikelet::neuron::run_case;
use spikelet::tensors::TensorFile;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a recorded case: forward, and backward where it has gradients
///
/// A case is a safetensors file whose metadata has `spec` (JSON: `neuron`, and optionally
/// `params`, `surrogate`, `reset_grad`) and whose tensors are `x_seq` [T, N], optionally `v_init`
/// [N], learnable parameters by name, `grad_spike_seq` and `grad_v_seq` [T, N]. The result has
/// `spike_seq` (what comes out), `v_seq` and the sequences of other states, and with gradients
/// `grad_x_seq`, `grad_v_init` and those of the parameters. A neuron that decodes has `out` and
/// `grad_out` [N] instead of `spike_seq` and `grad_spike_seq`.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet neuron run --case case.safetensors --out ours.safetensors" => "runs the case",
    "spikelet neuron diff ours.safetensors case.safetensors --tolerance 1e-6" => "compares with what the case expects",
])]
pub struct Run {
    /// The case
    #[arg(long, value_name = "FILE")]
    case: PathBuf,

    /// Where to write the result
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Run {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let case = TensorFile::read(&self.case)?;
        if same_file(&self.case, &self.out) {
            return Err(Failure::argument(
                format!("--out {} is the case itself", self.out.display()),
                "give the result a file of its own",
            ));
        }
        let backend = self.device.open()?;
        let device = backend.name();
        let made = run_case(&case, &self.case, backend)?;
        made.write(&self.out)?;

        let rate = made.tensors.get("spike_seq").map(mean);
        let shapes: Map<String, Value> = made
            .tensors
            .iter()
            .map(|(name, t)| (name.clone(), json!(t.shape)))
            .collect();
        console.say_json(&json!({
            "case": path_text(&self.case), "out": path_text(&self.out), "device": device, "tensors": shapes, "spike_rate": rate,
        }));
        let mut table = Table::new(&["tensor", "type", "mean", "largest"]).right(&[2, 3]);
        for (name, tensor) in &made.tensors {
            let largest = tensor
                .to_f64()
                .into_iter()
                .fold(0.0, |most: f64, x| most.max(x.abs()));
            let numbers = [mean(tensor), largest].map(|x| format!("{x:.6}"));
            table.row(
                [name.clone(), tensor.ty().to_string()]
                    .into_iter()
                    .chain(numbers),
            );
        }
        say_table(console, &table);
        console.say(format!("\nwritten: {} (on {device})", self.out.display()));
        Ok(ExitCode::SUCCESS)
    }
}

fn mean(tensor: &Tensor) -> f64 {
    tensor.to_f64().iter().fold(0.0, |sum, x| sum + x) / tensor.len().max(1) as f64
}
