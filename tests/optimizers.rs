//! Optimizers on a GPU: every operation of an update has a kernel there, and the results are those of the CPU.

use crate::gpu;

use gpu::gpu;
use spikelet::graph::{Backend, Graph, Plan, Precision, Tensor, Tracer};
use spikelet::optim::{
    Lamb, Muon, OPTIMIZERS, Optimizer, feed_scalars_of, scalar_inputs_of, update,
};
use spikelet::prelude::*;
use spikelet::train::scaling::UpdateGuard;
use spikelet_cuda::{OfflineTarget, Properties};
use std::sync::Arc;

/// A matrix with more rows than columns, one with fewer, a kernel and a bias.
const SHAPES: [(&str, &[usize]); 4] = [
    ("tall", &[96, 40]),
    ("wide", &[40, 96]),
    ("kernel", &[32, 3, 3, 16]),
    ("bias", &[40]),
];

const STEPS: u64 = 10;

/// Values on [−1, 1).
fn values(count: usize, salt: u64) -> Vec<f32> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / f64::from(1 << 23) - 1.0) as f32
    };
    (0..count).map(next).collect()
}

/// The update of all parameters; their gradients are inputs.
fn step(optimizer: &dyn Optimizer, precision: Precision) -> Result<Graph> {
    let tracer = Tracer::new(DType::F32);
    tracer.set_precision(precision);
    let guard = UpdateGuard::FiniteLoss(tracer.input("loss", DType::F32, []));
    let scalars = scalar_inputs_of(&tracer, optimizer, "");
    for (name, shape) in SHAPES {
        let weight = tracer.parameter(name, shape);
        let grad = tracer.input(&format!("{name}.grad"), DType::F32, shape);
        update(optimizer, name, &weight, &grad, &scalars, &guard);
    }
    Ok(tracer.finish()?)
}

/// All parameters after ten steps.
fn trained(
    optimizer: &dyn Optimizer,
    precision: Precision,
    backend: Arc<dyn Backend>,
) -> Result<Vec<f64>> {
    let mut store = VarStore::new(backend);
    for (k, (name, shape)) in SHAPES.into_iter().enumerate() {
        let initial = values(shape.iter().product(), k as u64);
        store.insert(name, &Tensor::f32(shape, initial))?;
    }
    let mut program = Program::new(step(optimizer, precision)?, &mut store)?;
    program.set("loss", &[0.0])?;
    for k in 1..=STEPS {
        for (n, (name, shape)) in SHAPES.into_iter().enumerate() {
            let grad = values(shape.iter().product(), 100 * k + n as u64);
            program.set(&format!("{name}.grad"), &grad)?;
        }
        feed_scalars_of(&program, optimizer, "", k, 1e-2)?;
        program.run()?;
    }
    let each = SHAPES.map(|(name, _)| store.get(name).map(|tensor| tensor.to_f64()));
    let each = each.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(each.concat())
}

/// All optimizers, with the variants that use other operations.
fn optimizers() -> Vec<Arc<dyn Optimizer>> {
    let defaults = OPTIMIZERS.entries.iter().map(|entry| (entry.default)());
    let mut all: Vec<_> = defaults.collect();
    let (weight_decay, always_adapt) = (0.0, true);
    all.push(Arc::new(Lamb {
        weight_decay,
        always_adapt,
        ..Lamb::default()
    }));
    all.push(Arc::new(Muon {
        nesterov: false,
        weight_decay: 0.1,
        ..Muon::default()
    }));
    all
}

#[test]
fn every_update_has_kernels_on_gpus() -> Result<()> {
    for optimizer in optimizers() {
        for precision in Precision::ALL {
            let gpu = OfflineTarget::new(Properties::large((9, 0)));
            let plan = Plan::new(step(&*optimizer, precision)?, &gpu);
            plan.check_target(&gpu)?;
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn ten_steps_on_a_gpu_give_the_parameters_of_the_cpu() -> Result<()> {
    for optimizer in optimizers() {
        for (precision, tolerance) in [
            (Precision::F32, 1e-5),
            (Precision::Tf32, 2e-3),
            (Precision::Bf16, 2e-3),
            (Precision::F16, 2e-3),
        ] {
            let cpu = trained(&*optimizer, precision, spikelet::device::cpu()?)?;
            let found = trained(&*optimizer, precision, gpu())?;
            for (k, (found, expected)) in found.iter().zip(&cpu).enumerate() {
                let near = (found - expected).abs() <= tolerance * (1.0 + expected.abs());
                let name = optimizer.name();
                assert!(
                    near,
                    "{name}, {precision}: [{k}] is {found}, on the CPU {expected}"
                );
            }
        }
    }
    Ok(())
}
