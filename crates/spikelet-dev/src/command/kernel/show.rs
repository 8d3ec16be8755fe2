//! `spikelet-dev kernel show`

mod auto_cuda;
mod fused;
mod scan;

use clap::ValueEnum;
use serde_json::{Map, Value};
use spikelet::log::Console;
use spikelet_cli::args::{NeuronArgs, capability, count, neuron_names};
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// Print the source of a neuron's CUDA kernel
///
/// `auto_cuda` is the output of SpikingJelly's kernel generator, for if, lif and plif: T, N and the
/// neuron's constants are arguments; the forward pass writes all potentials, and the backward pass
/// reads them. `fused` is the kernel of a training step, for every neuron: shapes and constants are
/// literals, and the backward pass recomputes the potentials. `--json` also prints the parameters. No
/// GPU is needed.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev kernel show --neuron lif --surrogate sigmoid --pass bptt" => "LIF backward",
    "spikelet-dev kernel show --neuron if --dtype half2 --set v_reset=null --markers" => "pairs of half-precision numbers, a soft reset, marked sections",
    "spikelet-dev kernel show --neuron plif --style fused --pass bptt -T 8" => "the kernel of training, for eight time steps",
    "spikelet-dev kernel show --style fused --neurons 4096 --arch 80 --json" => "for an A100, with its parameters",
])]
pub struct Show {
    /// Neuron model
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", default_value = "lif", value_parser = neuron_names())]
    pub(super) name: String,

    #[command(flatten)]
    pub(super) neuron: NeuronArgs,

    /// Kernel generator
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Style::AutoCuda)]
    style: Style,

    /// Direction of time
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Pass::Fptt)]
    pub(super) pass: Pass,

    /// Number type: float or half2 for auto_cuda; float, half (also called half2) or bf16 for fused
    #[arg(help_heading = "Kernel", long, value_enum, default_value_t = Dtype::Float)]
    pub(super) dtype: Dtype,

    /// Compute the surrogate's derivative with functions that give the bits of the CPU, as fused kernels do, in place
    /// of SpikingJelly's text
    #[arg(help_heading = "Kernel", long)]
    pub(super) same_bits: bool,

    /// Mark the start and the end of each section of the source
    #[arg(help_heading = "Kernel", long)]
    pub(super) markers: bool,

    #[command(flatten)]
    pub(super) size: SizeArgs,
}

/// The launch of a fused kernel.
#[derive(clap::Args)]
#[command(next_help_heading = "For --style fused")]
pub struct SizeArgs {
    /// Number of time steps [default: 32]
    #[arg(long, short = 'T', value_name = "T", value_parser = count)]
    pub(super) time_steps: Option<usize>,

    /// Number of neurons [default: 262144]
    #[arg(long, short = 'N', value_name = "N", value_parser = count)]
    pub(super) neurons: Option<usize>,

    /// Compute capability; the launch configuration is that of a large GPU [default: 90]
    #[arg(long, value_name = "ARCH", value_parser = capability)]
    pub(super) arch: Option<(i32, i32)>,
}

/// A kernel generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// SpikingJelly's kernel generator
    #[value(name = "auto_cuda")]
    AutoCuda,
    /// The generator of the kernels that training runs
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
    /// 16 bits, two elements per thread
    Half2,
    /// 16 bits
    Half,
    /// 16 bits with the exponent range of float
    Bf16,
}

/// A generated kernel.
pub struct Written {
    pub(super) name: String,
    pub(super) source: String,
    /// For `--json`: the parameters in order.
    pub(super) parameters: Vec<Value>,
    /// For `--json`: further keys.
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

/// The name of a value, as on the command line.
fn word(choice: &impl ValueEnum) -> Value {
    let value = choice.to_possible_value();
    Value::from(value.map(|value| value.get_name().to_string()))
}
