//! `spikelet simulate`

use super::{examples, path_text, say_table};
use crate::args::{DeviceArgs, words};
use crate::failure::Failure;
use crate::table::Table;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::json;
use spikelet::graph::{Backend, DType};
use spikelet::human::duration;
use spikelet::log::Console;
use spikelet::nir::{
    self, Convention, Discretization, FeedbackFrom, Fires, ImportOptions, NirError, Record, Reset,
    SimulateOptions, StepLengthFrom, Traces, VStart,
};
use spikelet::problem_and_help;
use spikelet::schema::UnknownName;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

/// Run a NIR graph on given sequences
///
/// The graph is imported as a module and runs on the engine. The input is a .safetensors or .npz file with
/// an array in/NODE, [T, N, …], for each Input node; for a single one, x or a .npy file. The output has NODE/out of each Output node, or
/// with --record all that of every node, and of neurons NODE/h (potential before the reset), NODE/v
/// (after it) and NODE/i (current); a node of a nested graph is SUB/NODE.
///
/// NIR does not define time steps. The options do; those that are not given are those of the
/// convention, of the metadata that spikelet writes, or the defaults.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet simulate network.nir --input x.safetensors --out y.safetensors --dt 1e-4" => "the outputs, with steps of 0.1 ms",
    "spikelet simulate network.nir --input x.safetensors --out y.safetensors --convention spikingjelly --record all" => "all nodes, in the steps of SpikingJelly",
    "spikelet simulate network.nir --input x.safetensors --out y.safetensors --dt 1e-3 --discretization exact --dtype f64" => "the exact solution, in f64",
])]
pub struct Simulate {
    /// NIR graph
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Input sequences, .safetensors, .npz or .npy: in/NODE or x, [T, N, …]
    #[arg(long, value_name = "FILE")]
    input: PathBuf,

    /// File to write, safetensors
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// Sequences to write
    #[arg(long, value_name = "WHICH", default_value = "output", value_parser = words::<Record>())]
    record: Record,

    /// Type of all computations; f64 runs on the CPU
    #[arg(long, value_name = "TYPE", default_value = "f32", value_enum)]
    dtype: Float,

    #[command(flatten)]
    steps: Steps,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The time steps.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Time steps")]
pub(super) struct Steps {
    /// Length of a step in the units of the file's time constants, usually seconds [default: from the
    /// file, if it determines it]
    #[arg(long, value_name = "SECONDS", value_parser = crate::args::positive)]
    pub(super) dt: Option<f64>,

    /// The way from one step to the next: euler, euler-seq, exact or exact-seq [default: euler-seq]
    #[arg(long, value_name = "NAME", value_parser = choice::<Discretization>)]
    discretization: Option<Discretization>,

    /// Reset of a neuron that fired: value (v_reset) or subtract (the threshold) [default: value]
    #[arg(long, value_name = "NAME", value_parser = choice::<Reset>)]
    reset: Option<Reset>,

    /// Reset in the step after the spike, as snnTorch with reset_delay=True
    #[arg(long)]
    reset_delay: bool,

    /// Whether a neuron fires at its threshold: gt (above it) or ge (at least) [default: gt]
    #[arg(long, value_name = "NAME", value_parser = choice::<Fires>)]
    fires: Option<Fires>,

    /// The step of delay in a cycle: behind the neuron (source) or on the closing edge (edge) [default:
    /// source]
    #[arg(long, value_name = "NAME", value_parser = choice::<FeedbackFrom>)]
    feedback: Option<FeedbackFrom>,

    /// Potential before the first step: zero, leak or reset [default: zero]
    #[arg(long, value_name = "NAME", value_parser = choice::<VStart>)]
    v_start: Option<VStart>,

    /// The choices of a framework: snntorch, norse, spikingjelly, sinabs or rockpool
    #[arg(long, value_name = "NAME", value_parser = choice::<Convention>)]
    convention: Option<Convention>,
}

impl Steps {
    /// Sets the option of this name, without its dashes.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "dt" => self.dt = Some(crate::args::positive(value)?),
            "discretization" => self.discretization = Some(choice(value)?),
            "reset" => self.reset = Some(choice(value)?),
            "reset-delay" => self.reset_delay = value.parse().map_err(|_| "use true or false")?,
            "fires" => self.fires = Some(choice(value)?),
            "feedback" => self.feedback = Some(choice(value)?),
            "v-start" => self.v_start = Some(choice(value)?),
            "convention" => self.convention = Some(choice(value)?),
            _ => {
                return Err(format!(
                    "there is no option `{name}`; use dt, discretization, reset, reset-delay, fires, feedback, v-start, \
                     convention or dtype"
                ));
            }
        }
        Ok(())
    }
}

fn choice<T: FromStr<Err = UnknownName>>(text: &str) -> Result<T, String> {
    let parsed = text.parse::<T>();
    parsed.map_err(|error| error.to_string().replace("\n  help: ", "; "))
}

impl From<Steps> for ImportOptions {
    fn from(steps: Steps) -> Self {
        Self {
            dt: steps.dt,
            discretization: steps.discretization,
            reset: steps.reset,
            reset_delay: steps.reset_delay.then_some(true),
            fires: steps.fires,
            feedback: steps.feedback,
            v_start: steps.v_start,
            convention: steps.convention,
            ..Self::default()
        }
    }
}

/// The types of computations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Float(DType);

impl Float {
    /// The type.
    pub(super) fn dtype(self) -> DType {
        self.0
    }
}

impl ValueEnum for Float {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(DType::F32), Self(DType::F64)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self.0 {
            DType::F64 => "f64",
            _ => "f32",
        }))
    }
}

impl Simulate {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let device = self.open_device()?;
        let graph = nir::read(&self.file)?;
        let inputs = nir::read_inputs(&self.input)?;
        let options = SimulateOptions {
            import: self.steps.into(),
            record: self.record,
            float: self.dtype.0,
            device: Some(device),
        };
        let start = Instant::now();
        let traces = nir::simulate(&graph, &inputs, &options)
            .map_err(|error| in_file(&self.file, &self.input, error))?;
        traces.write(&self.out)?;
        self.say(console, &traces, start.elapsed().as_secs_f64());
        Ok(ExitCode::SUCCESS)
    }

    /// The device; f64 is for the CPU.
    fn open_device(&self) -> Result<Arc<dyn Backend>, Failure> {
        let is_f64 = matches!(self.dtype.0, DType::F64);
        match self.device.name() {
            "auto" if is_f64 => crate::args::open_device("cpu", self.device.threads),
            name if is_f64 && name != "cpu" => Err(Failure::argument(
                format!("--dtype f64 on {name}: programs in f64 run on the CPU only"),
                "use --device cpu, or --dtype f32",
            )),
            _ => self.device.open(),
        }
    }

    fn say(&self, console: &Console, traces: &Traces, seconds: f64) {
        let semantics = &traces.semantics;
        let shapes = traces.sequences.iter();
        let sequences: Vec<_> = shapes
            .map(|(name, tensor)| json!({"name": name, "shape": tensor.shape}))
            .collect();
        console.say_json(&json!({
            "file": path_text(&self.file), "input": path_text(&self.input),
            "dt": semantics.dt, "dt_from": origin(semantics.dt_from),
            "discretization": semantics.discretization.name(), "reset": semantics.reset.name(), "reset_delay": semantics.reset_delay,
            "fires": semantics.fires.name(), "feedback": semantics.feedback.name(),
            "v_start": semantics.v_start.name(), "warnings": traces.warnings,
            "sequences": sequences, "seconds": seconds, "out": path_text(&self.out),
        }));
        for warning in &traces.warnings {
            console.say(format!("warning: {warning}"));
        }
        let mut table = Table::new(&["sequence", "shape"]);
        for (name, tensor) in &traces.sequences {
            let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
            table.row([name.clone(), sizes.join(" × ")]);
        }
        say_table(console, &table);
        console.say(format!(
            "{semantics} ({}) · {}\nfile: {}",
            origin(semantics.dt_from),
            duration(seconds),
            self.out.display()
        ));
    }
}

/// The origin of dt.
fn origin(from: StepLengthFrom) -> &'static str {
    match from {
        StepLengthFrom::Options => "dt as given",
        StepLengthFrom::Convention => "dt of the convention",
        StepLengthFrom::Metadata => "dt of the file's metadata",
        StepLengthFrom::Parameters => "dt from the file's parameters",
        StepLengthFrom::Unused => "no node depends on dt",
    }
}

/// An error of a simulation, with the file that it is about.
fn in_file(graph: &Path, input: &Path, error: spikelet::Error) -> Failure {
    let path = match error.downcast_ref::<NirError>() {
        Some(NirError::Input { .. }) => input,
        _ => graph,
    };
    let text = error.to_string();
    let (problem, help) = problem_and_help(&text);
    Failure::other(
        format!("{}: {problem}", path.display()),
        help.unwrap_or("check the graph and the options"),
    )
}
