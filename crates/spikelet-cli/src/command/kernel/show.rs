//! `spikelet kernel show`

use super::{auto_cuda, fused};
use crate::args::{NeuronArgs, capability, count, neuron_names};
use crate::command::examples;
use crate::failure::Failure;
use clap::ValueEnum;
use serde_json::{Map, Value};
use spikelet::log::Console;
use std::process::ExitCode;

/// Print the text of a neuron's kernel, and nothing else
///
/// `auto_cuda` is the text of SpikingJelly's kernel writer, for if, lif and plif: T, N and the
/// neuron's numbers are arguments, all potentials are written forward and read backward. `fused` is
/// what the engine runs in a training step, for every neuron: shapes and numbers stand in the text,
/// potentials are made again backward. `--json` prints the parameters, too. No GPU is needed.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet kernel show --neuron lif --surrogate sigmoid --pass bptt" => "LIF backward",
    "spikelet kernel show --neuron if --dtype half2 --set v_reset=null --markers" => "pairs of halves, a soft reset, marked sections",
    "spikelet kernel show --neuron plif --style fused --pass bptt -T 8" => "the engine's own, for eight time steps",
    "spikelet kernel show --style fused --neurons 4096 --arch 80 --json" => "for an A100, with its parameters",
])]
pub struct Show {
    /// The neuron
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", default_value = "lif", value_parser = neuron_names())]
    pub(super) name: String,

    #[command(flatten)]
    pub(super) neuron: NeuronArgs,

    /// Who writes it
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Style::AutoCuda)]
    style: Style,

    /// The direction of time
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Pass::Fptt)]
    pub(super) pass: Pass,

    /// The number type: float or half2 for auto_cuda; float, half (also called half2) or bf16 for fused
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Dtype::Float)]
    pub(super) dtype: Dtype,

    /// Mark the start and the end of each section
    #[arg(help_heading = "Kernel", long)]
    pub(super) markers: bool,

    #[command(flatten)]
    pub(super) size: SizeArgs,
}

/// What the engine's own kernels are written for.
#[derive(clap::Args)]
#[command(next_help_heading = "For --style fused")]
pub struct SizeArgs {
    /// Time steps [default: 32]
    #[arg(long, short = 'T', value_name = "T", value_parser = count)]
    pub(super) time_steps: Option<usize>,

    /// Neurons [default: 262144]
    #[arg(long, short = 'N', value_name = "N", value_parser = count)]
    pub(super) neurons: Option<usize>,

    /// Compute capability; the layout of the threads is for a large GPU that has it [default: 90]
    #[arg(long, value_name = "ARCH", value_parser = capability)]
    pub(super) arch: Option<(i32, i32)>,
}

/// Who writes a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// SpikingJelly's kernel writer
    #[value(name = "auto_cuda")]
    AutoCuda,
    /// The engine
    Fused,
}

/// The direction of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pass {
    /// Forward through time
    Fptt,
    /// Backward through time
    Bptt,
}

/// The number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// 32 bits
    Float,
    /// 16 bits, two numbers a thread
    Half2,
    /// 16 bits
    Half,
    /// 16 bits with the range of float
    Bf16,
}

/// A kernel that was written.
pub struct Written {
    pub(super) name: String,
    pub(super) source: String,
    /// For machines: the parameters in order, with what is known of each.
    pub(super) parameters: Vec<Value>,
    /// For machines: what else there is to know.
    pub(super) more: Map<String, Value>,
}

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let neuron = self.neuron.build(&self.name)?;
        let constants = self.neuron.present(&self.name, &*neuron)?;
        let written = match self.style {
            Style::AutoCuda => auto_cuda::write(&self, &*neuron, &constants)?,
            Style::Fused => fused::write(&self, &*neuron)?,
        };
        let mut object = written.more;
        object.extend([
            ("name".to_string(), Value::from(written.name)),
            ("source".to_string(), Value::from(written.source.as_str())),
            ("parameters".to_string(), Value::from(written.parameters)),
            ("neuron".to_string(), Value::from(self.name)),
            ("constants".to_string(), Value::from(constants)),
            ("style".to_string(), word(&self.style)),
            ("pass".to_string(), word(&self.pass)),
            ("dtype".to_string(), word(&self.dtype)),
        ]);
        console.say_json(&object);
        console.say(written.source.trim_end());
        Ok(ExitCode::SUCCESS)
    }
}

/// A choice as it is typed.
fn word(choice: &impl ValueEnum) -> Value {
    let value = choice.to_possible_value();
    Value::from(value.map(|value| value.get_name().to_string()))
}
