//! What a plan is predicted to take.

use super::flow::StagePlans;
use super::timetable::StageCost;
use spikelet_graph::{Backend, DType, DeviceKind, Plan};

/// Rough rates of a device. Only their relation matters: they decide where a network is cut, never
/// what it computes.
#[derive(Clone, Copy)]
struct Rates {
    /// Floating-point operations a second in products of 16-bit numbers.
    halves: f64,
    /// In products of others.
    floats: f64,
    /// Bytes of memory a second.
    bytes: f64,
    /// Seconds of a kernel that does nothing.
    launch: f64,
}

/// About an H100's.
const GPU: Rates = Rates {
    halves: 500e12,
    floats: 40e12,
    bytes: 3e12,
    launch: 3e-6,
};

/// About a few cores'.
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
        // A device with memory of its own is faster than the host, or nobody would have it.
        _ if backend.memory_bytes().is_some() => GPU,
        _ => CPU,
    }
}

/// Seconds of a plan on a device.
pub(super) fn seconds(plan: &Plan, backend: &dyn Backend) -> f64 {
    let rates = rates(backend);
    let kernel = |kernel: &spikelet_graph::Kernel| {
        let node = &plan.graph.nodes[kernel.node];
        let half = |v: &spikelet_graph::ValueId| {
            matches!(plan.graph.ty(*v).dtype, DType::BF16 | DType::F16)
        };
        let speed = match node.inputs.iter().any(half) {
            true => rates.halves,
            false => rates.floats,
        };
        let (flops, bytes) = (
            kernel.flops as f64 / speed,
            kernel.bytes as f64 / rates.bytes,
        );
        flops.max(bytes) + rates.launch
    };
    plan.kernels.iter().map(kernel).sum()
}

/// What a unit of a stage takes.
pub(super) fn of_stage(plans: &StagePlans, backend: &dyn Backend, devices: &[usize]) -> StageCost {
    let count = plans.passes.len().max(1) as f64;
    let mean = |plan: &dyn Fn(&super::flow::Passes) -> f64| {
        plans.passes.values().map(plan).sum::<f64>() / count
    };
    StageCost {
        devices: devices.to_vec(),
        forward: mean(&|p| seconds(&p.forward, backend)),
        backward: mean(&|p| p.backward.as_ref().map_or(0.0, |b| seconds(b, backend))),
    }
}
