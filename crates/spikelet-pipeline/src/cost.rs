//! The predicted run time of plans.

use super::plans::{Passes, StagePlans};
use super::timetable::StageCost;
use spikelet_graph::{Backend, DType, DeviceKind, Plan};

/// The approximate throughput of a device. Only the ratios matter: they affect the partition, never the
/// results.
#[derive(Clone, Copy)]
struct Rates {
    /// Floating-point operations per second in matrix products of 16-bit types.
    halves: f64,
    /// The same in those of other types.
    floats: f64,
    /// Memory bandwidth in bytes per second.
    bytes: f64,
    /// The launch time of a kernel in seconds.
    launch: f64,
}

/// About that of an H100.
const GPU: Rates = Rates {
    halves: 500e12,
    floats: 40e12,
    bytes: 3e12,
    launch: 3e-6,
};

/// About that of a few cores.
const CPU: Rates = Rates {
    halves: 100e9,
    floats: 100e9,
    bytes: 20e9,
    launch: 3e-6,
};

fn rates(backend: &dyn Backend) -> Rates {
    match backend.kind() {
        DeviceKind::Cpu => CPU,
        DeviceKind::Cuda => GPU,
        // A device with separate memory is assumed to be faster than the host.
        _ if backend.memory_bytes().is_some() => GPU,
        _ => CPU,
    }
}

/// The run time of a plan on a device in seconds.
pub(super) fn seconds(plan: &Plan, backend: &dyn Backend) -> f64 {
    let rates = rates(backend);
    let kernel = |kernel: &spikelet_graph::Kernel| {
        let node = &plan.graph.nodes[kernel.node];
        let half = |v: &spikelet_graph::ValueId| {
            matches!(plan.graph.ty(*v).dtype, DType::BF16 | DType::F16)
        };
        let speed = if node.inputs.iter().any(half) {
            rates.halves
        } else {
            rates.floats
        };
        let (flops, bytes) = (
            kernel.flops as f64 / speed,
            kernel.bytes as f64 / rates.bytes,
        );
        flops.max(bytes) + rates.launch
    };
    plan.kernels.iter().map(kernel).sum()
}

/// The cost of a chunk of a micro-batch on a stage.
pub(super) fn of_stage(plans: &StagePlans, backend: &dyn Backend, devices: &[usize]) -> StageCost {
    let count = plans.passes.len().max(1) as f64;
    let mean = |plan: &dyn Fn(&Passes) -> f64| plans.passes.values().map(plan).sum::<f64>() / count;
    StageCost {
        devices: devices.to_vec(),
        forward: mean(&|p| seconds(&p.forward, backend)),
        backward: mean(&|p| p.backward.as_ref().map_or(0.0, |b| seconds(b, backend))),
    }
}
