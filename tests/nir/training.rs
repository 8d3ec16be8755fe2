//! Imported graphs train: gradients reach the weights through neurons, convolutions and loops.

use crate::nir::support::graph;
use spikelet::graph::op::HostTensor;
use spikelet::nir::{self, ImportOptions};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};

const STEPS: usize = 16;
const BATCH: usize = 4;

/// Inputs that are 0 or 1, more often for one sample than for another.
fn spikes(count: usize) -> Vec<f32> {
    let spike = |k: usize| f32::from(u8::from((k * 2_654_435_761) % 97 < 45));
    (0..count).map(spike).collect()
}

/// Trains the sums of the outputs over time towards a target, and returns the first and the last loss.
fn losses(name: &str, dt: f64, train_neurons: bool) -> (f64, f64, Vec<String>) {
    let options = ImportOptions {
        train_neurons,
        ..ImportOptions::new(dt)
    };
    let imported = nir::import(&graph(name), &options).expect("a graph");
    let shape = imported.module.inputs()[0].shape.clone();
    let size: usize = shape.iter().product();
    let device = spikelet::device::find("cpu", 1).expect("a CPU");
    let mut store = imported.store(device, DType::F32).expect("a store");
    let module = &imported.module;
    let own = shape.clone();
    let step = Step::new(move |cx: &Context, inputs| {
        let x = inputs["x"].reshape([&[BATCH, STEPS], &own[..]].concat());
        let order: Vec<usize> = [1, 0].into_iter().chain(2..x.rank()).collect();
        let y = module.forward(cx, &x.permute(&order))?;
        let mean = y.mean(&[0]);
        Ok(Outputs::loss((mean - 0.3).square().mean_all()))
    });
    let step = step
        .batch_size(BATCH)
        .input("x", DType::F32, [STEPS * size])
        .optimizer(Adam::new(5e-3));
    let mut step = step.compile(&mut store).expect("a program");
    let x = spikes(BATCH * STEPS * size);
    let mut run = || {
        let metrics = step.run([("x", &x)]).expect("a step");
        metrics.loss
    };
    let first = run();
    let last = (0..60).map(|_| run()).last().expect("a loss");
    let changed = imported.tensors.iter().filter(|(name, before)| {
        store.get(name).expect("a tensor").to_f64() != before.cast(DType::F32).to_f64()
    });
    (first, last, changed.map(|(name, _)| name.clone()).collect())
}

#[test]
fn feed_forward_convolutional_and_recurrent_graphs_train() {
    for (name, dt) in [
        ("lif_f32", 1e-3),
        ("snntorch_conv", 1e-4),
        ("recurrent", 1e-3),
        ("recurrent_cuba", 1e-3),
        ("nested", 1e-3),
    ] {
        let (first, last, changed) = losses(name, dt, false);
        assert!(last < 0.9 * first, "{name}: {first} → {last}");
        let is_weight = |name: &String| {
            [".weight", ".bias", ".scale"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        assert!(
            !changed.is_empty() && changed.iter().all(is_weight),
            "{name}: {changed:?}"
        );
    }
}

#[test]
fn parameters_of_neurons_train_if_asked() {
    let (_, _, changed) = losses("recurrent", 1e-3, true);
    for part in ["rec.lif.tau", "rec.lif.v_threshold"] {
        assert!(
            changed.iter().any(|name| name == part),
            "{part}: {changed:?}"
        );
    }
}

#[test]
fn graphs_run_step_by_step_as_at_once() {
    for name in ["recurrent", "self_loop", "delay_lif", "nested", "cubalif"] {
        let imported = nir::import(&graph(name), &ImportOptions::new(1e-3)).expect("a graph");
        let shape = [&[STEPS, BATCH], &imported.module.inputs()[0].shape[..]].concat();
        let x = Tensor::f32(shape.clone(), spikes(shape.iter().product()));
        let run = |propagation| -> Result<Tensor> {
            let cx = Context::new(Mode::EVAL, DType::F32).propagation(propagation);
            let input = cx.tracer().input("x", DType::F32, shape.clone());
            let y = cx.trace(&imported.module, input)?;
            cx.tracer().output("y", &y);
            let device = spikelet::device::find("cpu", 1)?;
            let mut store = imported.store(device, DType::F32)?;
            let mut program = cx.compile(&mut store, 0)?;
            program.run_with([("x", spikelet::runtime::host(&x))])?;
            program.get("y")
        };
        let at_once = run(Propagation::default()).expect("a run");
        for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
            let stepped = run(propagation).expect("a run");
            assert_eq!(stepped, at_once, "{name} {propagation:?}");
        }
    }
}

#[test]
fn a_stream_of_parts_gives_the_results_of_the_sequence() {
    let imported = nir::import(&graph("recurrent"), &ImportOptions::new(1e-3)).expect("a graph");
    let shape = imported.module.inputs()[0].shape.clone();
    let run = |mode: Mode, steps: usize| -> Result<Vec<f64>> {
        let part = [&[steps, 1], &shape[..]].concat();
        let cx = Context::new(mode, DType::F32);
        let input = cx.tracer().input("x", DType::F32, part.clone());
        let y = cx.trace(&imported.module, input)?;
        cx.tracer().output("y", &y);
        let mut store = imported.store(spikelet::device::find("cpu", 1)?, DType::F32)?;
        let mut program = cx.compile(&mut store, 0)?;
        let mut all = vec![];
        for x in spikes(STEPS * shape[0]).chunks(steps * shape[0]) {
            program.run_with([("x", HostTensor::F32(x))])?;
            all.extend(program.get("y")?.to_f64());
        }
        Ok(all)
    };
    let whole = run(Mode::EVAL, STEPS).expect("a run");
    assert_eq!(run(Mode::STREAM, 4).expect("a run"), whole);
    assert_eq!(run(Mode::STREAM, 1).expect("a run"), whole);
}
