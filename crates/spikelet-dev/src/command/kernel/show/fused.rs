//! The kernels of training.

use super::scan::{self, Layer};
use super::{Dtype, Pass, Show, Written};
use serde_json::{Map, Value, json};
use spikelet::auto_cuda::Sections;
use spikelet::graph::op::Op;
use spikelet::graph::{DType, Plan};
use spikelet::neuron::{Granularity, Neuron, derive};
use spikelet_cli::failure::Failure;
use spikelet_cuda::{OfflineTarget, Properties};
use std::sync::Arc;

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
    let size = &show.size;
    let (time_steps, neurons) = (
        size.time_steps.unwrap_or(TIME_STEPS),
        size.neurons.unwrap_or(NEURONS),
    );
    let elements = time_steps.checked_mul(neurons);
    if elements.is_none_or(|count| i32::try_from(count).is_err()) {
        return Err(Failure::argument(
            format!("{time_steps} time steps of {neurons} neurons are more than 2³¹ − 1 elements"),
            "give fewer with -T or --neurons",
        ));
    }
    let params = neuron.params();
    let is_shared = |name: &String| {
        let found = params.iter().find(|p| p.name == name);
        found.is_none_or(|p| p.granularity == Granularity::Layer)
    };
    let layer = Layer {
        time_steps,
        neurons,
        dtype: match show.dtype {
            Dtype::Float => DType::F32,
            Dtype::Half | Dtype::Half2 => DType::F16,
            Dtype::Bf16 => DType::BF16,
        },
        states: neuron.states().iter().map(|s| s.reset).collect(),
        per_neuron: step.params.iter().map(|name| !is_shared(name)).collect(),
        step: Arc::new(step),
    };
    let gpu = Properties::large(size.arch.unwrap_or(CAPABILITY));
    let target = OfflineTarget::new(gpu);
    let plan = Plan::new(layer.trace()?, &target);
    let nodes = &plan.graph.nodes;
    let wanted = |op: &Op| match show.pass {
        Pass::Fptt => matches!(op, Op::Scan(_)),
        Pass::Bptt => matches!(op, Op::ScanGrad(_)),
    };
    let mut kernels = target.kernels(&plan)?.into_iter();
    let kernel = kernels.find(|kernel| wanted(&nodes[kernel.node].op));
    let kernel = kernel.ok_or_else(|| {
        Failure::argument(
            "it has no gradient with respect to its inputs",
            "use --pass fptt",
        )
    })?;
    let parameters = kernel.parameters.iter().map(|p| {
        let ty = p.value.map(|value| plan.graph.ty(value));
        json!({
            "type": p.ctype, "name": p.name,
            "what": scan::meaning(p, &plan.graph, kernel.node),
            "dtype": ty.map(|ty| ty.dtype.to_string()),
            "shape": ty.map(|ty| &ty.shape),
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    let mut source = match show.markers {
        true => Sections::marked(),
        false => Sections::plain(),
    };
    for (name, text) in &kernel.sections {
        source.section(name, |s| s.push(text));
    }
    let more = [
        ("time_steps", json!(time_steps)),
        ("neurons", json!(neurons)),
        ("capability", json!(gpu.capability)),
        ("multiprocessors", json!(gpu.multiprocessors)),
        ("grid", json!(kernel.grid)),
        ("block", json!(kernel.block)),
    ];
    let more = more.map(|(key, value)| (key.to_string(), value));
    Ok(Written {
        source: source.finish(),
        parameters,
        name: kernel.name,
        more: Map::from_iter(more),
    })
}
