//! `spikelet-dev case run`

use crate::case;
use serde_json::{Map, Value, json};
use spikelet::graph::{DType, Tensor};
use spikelet::log::Console;
use spikelet_cli::args::open_device;
use spikelet_cli::command::{examples, path_text, same_file, say_table};
use spikelet_cli::failure::Failure;
use spikelet_cli::table::Table;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compute the results of a reference case
///
/// A case is a safetensors file whose metadata has `spec`, JSON with `kind`: neuron, network or
/// encoder. Only the inputs are read; expected tensors in the file are ignored. The result has a
/// neuron's `spike_seq` (or `out`), `v_seq`, `trace_seq`, `grad_x_seq`, `grad_v_init` and
/// `grad_<parameter>`; a network's spikes, scores, loss, gradients and running statistics; an
/// encoder's `spike_seq`. A spec with `family` is a case of a recurrent layer or network; the result
/// has what its `f32_noise` lists. A JSON file describes a deep network, whose parameters and inputs
/// follow from formulas; the result has its scores, loss, firing rates, norms and heads of gradients,
/// running statistics, and the scores in evaluation.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev case run --case case.safetensors --out ours.safetensors" => "on the CPU",
    "spikelet-dev case run --case case.safetensors --out exact.safetensors --dtype f64" => "in double precision",
    "spikelet-dev case diff ours.safetensors case.safetensors --tolerance 1e-6" => "compare with the expected tensors",
])]
pub struct Run {
    /// Input file of the case
    #[arg(long, value_name = "FILE")]
    case: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Device: cpu, cuda, or cuda:1 for the second GPU
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: String,

    /// Number of threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Number type of the computation; f64 on the CPU only
    #[arg(long, value_name = "TYPE", default_value = "f32", value_parser = dtype)]
    dtype: DType,
}

fn dtype(text: &str) -> Result<DType, String> {
    match text {
        "f32" => Ok(DType::F32),
        "f64" => Ok(DType::F64),
        _ => Err("use f32 or f64".to_string()),
    }
}

impl Run {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if self.dtype == DType::F64 && self.device != "cpu" {
            return Err(Failure::argument(
                format!("--dtype f64 with --device {}", self.device),
                "f64 runs on the CPU only: write --device cpu",
            ));
        }
        if same_file(&self.case, &self.out) {
            return Err(Failure::argument(
                format!("--out {} is the case itself", self.out.display()),
                "give another file for the result",
            ));
        }
        let case = case::read(&self.case)?;
        let backend = open_device(&self.device, self.threads)?;
        let device = backend.name();
        let results = case::run(&case, &self.case, backend, self.dtype)?;
        results.write(&self.out)?;
        let shapes: Map<String, Value> = (results.tensors.iter())
            .map(|(name, t)| (name.clone(), json!(t.shape)))
            .collect();
        console.say_json(&json!({
            "case": path_text(&self.case), "out": path_text(&self.out), "device": device,
            "tensors": shapes, "spike_rate": results.tensors.get("spike_seq").map(mean),
        }));
        let mut table = Table::new(&["tensor", "type", "mean", "largest"]).right(&[2, 3]);
        for (name, tensor) in &results.tensors {
            let values = tensor.to_f64().into_iter();
            let largest = values.fold(0.0, |most: f64, x| most.max(x.abs()));
            let columns = [mean(tensor), largest].map(|x| format!("{x:.6}"));
            table.row([&[name.clone(), tensor.ty().to_string()], &columns[..]].concat());
        }
        say_table(console, &table);
        console.say(format!("\nwritten: {} (on {device})", self.out.display()));
        Ok(ExitCode::SUCCESS)
    }
}

fn mean(tensor: &Tensor) -> f64 {
    tensor.to_f64().iter().fold(0.0, |sum, x| sum + x) / tensor.len().max(1) as f64
}
