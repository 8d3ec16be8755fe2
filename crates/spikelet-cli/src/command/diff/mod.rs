//! `spikelet diff`

mod options;
mod report;
mod side;

use super::examples;
use crate::args::CheckpointPath;
use crate::failure::Failure;
use options::{Assignment, SideOptions};
use spikelet::graph::Tensor;
use spikelet::log::Console;
use spikelet::nir::diff::{DiffOptions, Side, Trace, diff};
use spikelet::problem_and_help;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Compare two networks on the same input: the first difference, and its cause
///
/// A and B are NIR graphs or checkpoints of `spikelet train`, which run on the input, or recorded
/// sequences of another program (safetensors or .npz): LAYER/out, [T, N, …], and if they are known LAYER/h and LAYER/v, the
/// potentials before and after the reset, and LAYER/i, the current. `spikelet simulate --record all`
/// and `tools/record-traces` (SpikingJelly, snnTorch, Norse) write such files.
///
/// Prints the first time step, layer and neuron that differ, how far each layer and the outputs are
/// apart, and the cause. Causes are tried: a network that runs is run again with one choice changed
/// (reset, threshold, discretization, dt, type, transposed or exchanged weights, a bias, the scale of
/// the input), and compared again.
///
/// The exit status is 0 if the networks are equal, 1 if they differ, 2 if they cannot be compared.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet diff network.nir network.nir --input x.safetensors --dt 1e-3" => "a network and itself",
    "spikelet diff network.nir recorded.safetensors --input x.safetensors --dt 1e-3 --discretization exact" => "a graph and the sequences of another framework",
    "spikelet diff runs/mnist-fc/latest/best.safetensors mnist.nir --input images.safetensors" => "a trained network and a graph",
    "spikelet diff network.nir network.nir --input x.safetensors --dt 1e-3 --b dtype=f64 --json" => "f32 and f64, as JSON",
])]
pub struct Diff {
    /// The first network: a NIR graph, a checkpoint or the folder of a run, or recorded sequences
    #[arg(value_name = "A", value_parser = CheckpointPath::parser())]
    a: CheckpointPath,

    /// The second network
    #[arg(value_name = "B", value_parser = CheckpointPath::parser())]
    b: CheckpointPath,

    /// Input sequences, .safetensors, .npz or .npy: in/NODE or x, [T, N, …] [default: those in B or A]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Layers that correspond to each other, if their names differ; several times
    #[arg(long, value_name = "LAYER_OF_A=LAYER_OF_B", value_parser = options::pair)]
    map: Vec<(String, String)>,

    /// Values differ if |a − b| > tolerance·max(1, |a|)
    #[arg(long, value_name = "X", default_value = "1e-5", value_parser = crate::args::not_negative)]
    tolerance: f64,

    /// Only compare, without a search for the cause
    #[arg(long)]
    no_cause: bool,

    /// Option of A alone, such as reset=subtract; several times
    #[arg(long = "a", value_name = "OPTION=VALUE", value_parser = options::assignment)]
    only_a: Vec<Assignment>,

    /// Option of B alone, such as dt=1e-4 or convention=norse; several times
    #[arg(long = "b", value_name = "OPTION=VALUE", value_parser = options::assignment)]
    only_b: Vec<Assignment>,

    #[command(flatten)]
    both: SideOptions,
}

impl Diff {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        self.compare(console).map_err(not_compared)
    }

    fn compare(&self, console: &Console) -> Result<ExitCode, Failure> {
        let [a, b] = [
            side::open(&self.a, &self.both, &self.only_a)?,
            side::open(&self.b, &self.both, &self.only_b)?,
        ];
        let notes = [("A", a.notes), ("B", b.notes)];
        let (a, b) = (a.side, b.side);
        let inputs = self.inputs(&a, &b)?;
        let options = DiffOptions {
            tolerance: self.tolerance,
            map: self.map.clone(),
            find_cause: !self.no_cause,
        };
        let start = Instant::now();
        let found = diff(&a, &b, &inputs, &options)?;
        let files = [&*self.a, &*self.b];
        console.say_json(&report::json(files, &found, &options, start.elapsed()));
        for (name, notes) in notes {
            for note in notes {
                console.say(format!("note: {name}, {note}"));
            }
        }
        report::say(console, files, &found, &options);
        Ok(match found.is_equal() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }

    /// The input of the option, or of a file with recorded sequences.
    fn inputs(&self, a: &Side, b: &Side) -> Result<BTreeMap<String, Tensor>, Failure> {
        let recorded = |side: &Side| match side {
            Side::Trace(trace) => Some(trace.inputs.clone()).filter(|inputs| !inputs.is_empty()),
            Side::Graph { .. } => None,
        };
        let runs = [a, b].iter().any(|side| matches!(side, Side::Graph { .. }));
        match &self.input {
            Some(path) => {
                let inputs = Trace::read(path)?.inputs;
                if inputs.is_empty() {
                    return Err(Failure::argument(
                        format!("{}: it has no tensor in/NODE or x", path.display()),
                        "name the sequence [T, N, …] of an Input after it, such as in/input",
                    ));
                }
                Ok(inputs)
            }
            None => match recorded(b).or_else(|| recorded(a)) {
                Some(inputs) => Ok(inputs),
                None if runs => Err(Failure::argument(
                    "no input for the network was given",
                    "add --input FILE with the tensors in/NODE, [T, N, …]",
                )),
                None => Ok(BTreeMap::new()),
            },
        }
    }
}

/// A failure with the exit status 2: 1 means that the networks differ.
fn not_compared(failure: Failure) -> Failure {
    let text = failure.to_string();
    let (problem, help) = problem_and_help(&text);
    Failure::argument(problem, help.unwrap_or("check the files and the options"))
}
