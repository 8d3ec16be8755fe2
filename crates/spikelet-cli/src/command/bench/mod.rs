//! `spikelet bench …`

mod chart;
pub mod copy;
mod infer;
pub mod measure;
mod neuron;
pub mod passes;
mod pipeline;
mod ranks;
mod train;

use super::examples;
use crate::failure::Failure;
use measure::Measurement;
use spikelet::graph::{Backend, DType, DeviceKind, Plan};
use spikelet::human::bytes;
use spikelet::log::Console;
use std::process::ExitCode;

/// Measure time and memory
///
/// On the CPU each measurement runs in its own process; its peak memory is the maximum resident set
/// size of that process. Devices are synchronized before the clock is read.
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet bench neuron" => "a neuron in three execution orders, against a memory copy",
    "spikelet bench neuron --neuron plif --time-steps 4 --json" => "another neuron, as JSON",
    "spikelet bench train mnist-fc" => "a training step",
    "spikelet bench train cifar10-net --data-parallel 2" => "the same on two GPUs, against one",
    "spikelet bench infer csnn" => "inference, in images per second",
    "spikelet bench pipeline cifar10-net --pipeline 0,1 --splits 8,16" => "a pipeline on two GPUs, against one",
])]
pub enum Command {
    Neuron(neuron::Neuron),
    Train(train::Train),
    Infer(infer::Infer),
    Pipeline(pipeline::Pipeline),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Neuron(command) => command.run(console),
            Self::Train(command) => command.run(console),
            Self::Infer(command) => command.run(console),
            Self::Pipeline(command) => command.run(console),
        }
    }
}

/// A number type of sequences.
fn dtype(text: &str) -> Result<DType, String> {
    match text {
        "f32" => Ok(DType::F32),
        "f64" => Ok(DType::F64),
        "bf16" => Ok(DType::BF16),
        "f16" => Ok(DType::F16),
        _ => Err("use f32, bf16, f16 or f64".to_string()),
    }
}

/// Whether the device is the CPU, which shares memory and time with this process.
fn is_cpu(backend: &dyn Backend) -> bool {
    backend.kind() == DeviceKind::Cpu
}

/// A measurement: on the CPU in a separate process, for its peak memory, otherwise by `here`.
pub fn measured(
    backend: &dyn Backend,
    key: &str,
    here: impl FnOnce() -> Result<Measurement, Failure>,
) -> Result<Measurement, Failure> {
    if is_cpu(backend) {
        Measurement::in_own_process(key)
    } else {
        here()
    }
}

/// The peak memory of the process, or of the plan on a device.
pub fn peak(found: &Measurement, plan: &Plan, backend: &dyn Backend) -> String {
    match found.peak_mib.filter(|_| is_cpu(backend)) {
        Some(mib) => bytes((mib * 1024.0 * 1024.0) as u64),
        None => bytes(plan.peak_bytes() as u64),
    }
}
