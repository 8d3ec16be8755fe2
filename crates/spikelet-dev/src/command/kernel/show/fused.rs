//! The kernels of training.

use super::{Dtype, Pass, Show, Written};
use serde_json::{Map, Value, json};
use spikelet::auto_cuda::Sections;
use spikelet::graph::{DType, Error};
use spikelet::neuron::{Granularity, Neuron, derive};
use spikelet_cli::failure::Failure;
use spikelet_cuda::Properties;
use spikelet_cuda::scan_source::{self, NeuronScan, ValueSource};

/// The default sizes, as in `bench neuron`.
const TIME_STEPS: usize = 32;
const NEURONS: usize = 1 << 18;
const CAPABILITY: (i32, i32) = (9, 0);

/// Writes the kernel.
///
/// # Errors
/// When the neuron's equations cannot be derived, or there are too many elements.
pub fn write(show: &Show, neuron: &dyn Neuron) -> Result<Written, Failure> {
    let step = derive(neuron).map_err(|problem| {
        Failure::argument(
            problem.to_string(),
            "choose another surrogate, or --reset-grad surrogate",
        )
    })?;
    let params = neuron.params();
    let held = |name: &String| {
        let share = params
            .iter()
            .find(|p| p.name == name)
            .map(|p| p.granularity);
        match share.unwrap_or_default() {
            Granularity::Layer => ValueSource::Shared,
            _ => ValueSource::PerNeuron,
        }
    };
    let size = &show.size;
    let starts = neuron.states();
    let scan = NeuronScan {
        dtype: match show.dtype {
            Dtype::Float => DType::F32,
            Dtype::Half | Dtype::Half2 => DType::F16,
            Dtype::Bf16 => DType::BF16,
        },
        states: starts
            .iter()
            .map(|s| ValueSource::Literal(s.reset as f32))
            .collect(),
        params: step.params.iter().map(held).collect(),
        ..NeuronScan::new(
            step,
            size.time_steps.unwrap_or(TIME_STEPS),
            size.neurons.unwrap_or(NEURONS),
        )
    };
    let pass = match show.pass {
        Pass::Fptt => scan_source::Direction::Forward,
        Pass::Bptt => scan_source::Direction::Backward,
    };
    let gpu = Properties::large(size.arch.unwrap_or(CAPABILITY));
    let kernel = scan.source(pass, &gpu).map_err(|error| match error {
        Error::Shape { problem, help, .. } => Failure::argument(problem, help),
        other => other.into(),
    })?;
    let parameters = kernel.parameters.iter().map(|p| {
        json!({
            "type": p.ctype, "name": p.cname, "what": p.what,
            "dtype": p.tensor.as_ref().map(|t| t.dtype.to_string()),
            "shape": p.tensor.as_ref().map(|t| &t.shape),
        })
    });
    let mut source = match show.markers {
        true => Sections::marked(),
        false => Sections::plain(),
    };
    for (name, text) in &kernel.sections {
        source.section(name, |s| s.push(text));
    }
    let more = [
        ("time_steps", json!(scan.time_steps)),
        ("neurons", json!(scan.neurons)),
        ("capability", json!(gpu.capability)),
        ("multiprocessors", json!(gpu.multiprocessors)),
        ("grid", json!(kernel.grid)),
        ("block", json!(kernel.block)),
    ];
    let more = more.map(|(key, value)| (key.to_string(), value));
    Ok(Written {
        source: source.finish(),
        parameters: parameters.collect::<Vec<Value>>(),
        name: kernel.name,
        more: Map::from_iter(more),
    })
}
