//! Layer by layer, step by step, and step by step with nothing joined: the same results.

use crate::largest;

use largest::larger;
use spikelet::device;
use spikelet::encoder::Encoder;
use spikelet::graph::Graph;
use spikelet::graph::op::Operation;
use spikelet::module::{Propagation, TracedState, TracedTensor};
use spikelet::prelude::*;
use spikelet::timing::cal_fun_t;
use spikelet::train::{BatchShape, Step};
use std::collections::BTreeMap;

const STEPS: usize = 6;
const BATCH: usize = 3;
const PIXELS: usize = 20;

/// Every kind of thing that a step hands on or shares: states, draws, masks, parameters.
fn network(v_reset: Option<f64>) -> Sequential {
    let soft_pulse = Lif {
        common: Common::soft_pulse(),
        ..Lif::new(100.0)
    };
    Sequential::new()
        .add(Linear::new(PIXELS, 16).bias(true))
        .add(
            Lif::new(2.0)
                .v_reset(v_reset)
                .v_threshold(0.2)
                .surrogate(Atan::default()),
        )
        .add(Dropout::new(0.25))
        .add(Linear::new(16, 8).bias(false))
        .add(Plif::new(3.0).v_reset(v_reset).v_threshold(0.05))
        .add(Linear::new(8, 4).bias(false))
        .add(soft_pulse.v_threshold(0.002))
}

fn image() -> Vec<f32> {
    (0..BATCH * PIXELS)
        .map(|k| (k * 7 % 23) as f32 / 22.0)
        .collect()
}

/// Outputs, and the gradients of all parameters.
fn run(
    net: &Sequential,
    mode: Mode,
    propagation: Propagation,
    encoder: &dyn Encoder,
) -> Result<BTreeMap<String, Tensor>> {
    let cx = Context::new(mode, DType::F32).propagation(propagation);
    let tracer = cx.tracer();
    let x = tracer.input("x", DType::F32, [BATCH, PIXELS]);
    let output = cx.trace_encoded(net, encoder, &x, STEPS)?;
    let traced = cx.traced();
    let mean = output.mean();
    tracer.output("spikes", &output.join());
    tracer.output("mean", &mean);
    for (name, value) in &traced.recorded {
        tracer.output(name, value);
    }
    let weights: Vec<Var> = (traced.parameters.iter())
        .filter_map(|p| tracer.find_input(&p.name))
        .collect();
    let loss = (mean - 0.3).square().sum_all();
    let grads = tracer.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    for (TracedTensor { name, .. }, grad) in traced.parameters.iter().zip(&grads) {
        tracer.output(&format!("grad {name}"), grad);
    }
    let mut store = VarStore::new(device::cpu()?);
    store.initialize(&traced, DType::F32, 5)?;
    let graph = tracer.finish()?;
    let names: Vec<String> = graph
        .outputs
        .iter()
        .filter(|o| o.updates.is_none())
        .map(|o| o.name.clone())
        .collect();
    let mut program = Program::new(graph, &mut store)?;
    program.set("x", &image())?;
    program.set("generator", &[9, 2, 40, 0])?;
    program.run()?;
    let mut found = BTreeMap::new();
    for name in names {
        found.insert(name.clone(), program.get(&name)?);
    }
    for TracedState { name, .. } in &traced.states {
        found.insert(format!("state {name}"), store.get(name)?);
    }
    Ok(found)
}

/// The largest difference, over the largest value.
fn apart(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64(), b.to_f64());
    let most = a.iter().fold(1e-30, |most: f64, x| most.max(x.abs()));
    let differences = a.iter().zip(&b).map(|(x, y)| (x - y).abs());
    differences.fold(0.0, larger) / most
}

#[test]
fn all_three_give_the_same_spikes_and_the_same_gradients() -> Result<()> {
    for v_reset in [Some(0.0), None] {
        let net = network(v_reset);
        for mode in [Mode::TRAIN, Mode::EVAL] {
            let whole = run(&net, mode, Propagation::LayerByLayer, &Poisson)?;
            for spikes in ["1.spike_seq", "4.spike_seq", "6.spike_seq"] {
                let values = whole[spikes].to_f64();
                assert!(values.contains(&1.0) && values.contains(&0.0), "{spikes}");
            }
            for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
                let steps = run(&net, mode, propagation, &Poisson)?;
                assert_eq!(whole.len(), steps.len());
                for (name, expected) in &whole {
                    if name.starts_with("grad") {
                        let apart = apart(expected, &steps[name]);
                        assert!(apart < 1e-5, "{propagation}, {name}: {apart}");
                    } else {
                        assert_eq!(&steps[name], expected, "{propagation}, {name}");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn carried_states_are_the_programs_own_at_both_ends() -> Result<()> {
    let mode = Mode::STREAM;
    for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
        let whole = run(&network(None), mode, Propagation::LayerByLayer, &Poisson)?;
        let steps = run(&network(None), mode, propagation, &Poisson)?;
        for (name, expected) in whole.iter().filter(|(name, _)| !name.starts_with("grad")) {
            assert_eq!(&steps[name], expected, "{propagation}, {name}");
        }
        assert_eq!(whole.keys().filter(|k| k.starts_with("state")).count(), 3);
    }
    Ok(())
}

#[test]
fn a_reset_gradient_of_every_kind_survives_being_taken_apart() -> Result<()> {
    let kinds = [ResetGrad::Surrogate, ResetGrad::Detach, ResetGrad::Soft];
    for reset_grad in kinds {
        let net = Sequential::new()
            .add(Linear::new(PIXELS, 12).bias(false))
            .add(Lif::new(2.0).reset_grad(reset_grad).v_threshold(0.3));
        let whole = run(&net, Mode::TRAIN, Propagation::LayerByLayer, &Poisson)?;
        let steps = run(&net, Mode::TRAIN, Propagation::StepByStepUnfused, &Poisson)?;
        assert_eq!(whole["spikes"], steps["spikes"]);
        assert!(whole["grad 0.weight"].to_f64().iter().any(|g| *g != 0.0));
        let apart = apart(&whole["grad 0.weight"], &steps["grad 0.weight"]);
        assert!(apart < 1e-5, "{reset_grad:?}: {apart}");
    }
    Ok(())
}

#[test]
fn training_has_the_same_losses() -> Result<()> {
    let shape = BatchShape {
        batch: 16,
        image: [1, 28, 28],
    };
    let data = spikelet::data::synthetic::digits_of(1, 64, 10);
    let losses = |propagation: Propagation| -> Result<Vec<f64>> {
        let net = Sequential::new()
            .add(Flatten)
            .add(Linear::new(784, 32).bias(false))
            .add(Lif::new(2.0).v_reset(None).v_threshold(0.2))
            .add(Linear::new(32, 10).bias(false))
            .add(Lif::new(2.0).v_reset(None).v_threshold(0.2));
        let settings = Settings {
            time_steps: 4,
            batch_size: 16,
            propagation,
            clip_norm: Some(1.0),
            ..Settings::default()
        };
        let mut store = VarStore::new(device::cpu()?);
        let mut step = Step::classifier(&net, &settings, shape)?.compile(&mut store)?;
        let config = spikelet::data::LoaderConfig {
            batch_size: 16,
            shuffle: true,
            drop_last: true,
            ..Default::default()
        };
        let loader = spikelet::data::DataLoader::new(data.train.clone(), config)?;
        let batches = (0..2).flat_map(|epoch| loader.epoch(epoch, 0));
        batches
            .map(|batch| Ok(step.run_batch(&batch?)?.loss))
            .collect()
    };
    let whole = losses(Propagation::LayerByLayer)?;
    assert!(whole.last() < whole.first(), "{whole:?}");
    for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
        for (a, b) in whole.iter().zip(losses(propagation)?) {
            assert!((a - b).abs() <= 1e-5 * a.abs(), "{propagation}: {a} {b}");
        }
    }
    Ok(())
}

fn traced(propagation: Propagation) -> Result<Graph> {
    let cx = Context::new(Mode::EVAL, DType::F32).propagation(propagation);
    let x = cx.tracer().input("x", DType::F32, [STEPS, 2, 5]);
    let y = cx.trace(&Lif::new(2.0), x)?;
    cx.tracer().output("y", &y);
    Ok(cx.tracer().finish()?)
}

#[test]
fn what_is_kept_apart_is_three_kernels_a_step() -> Result<()> {
    let backend = device::cpu()?;
    let kernels = |propagation, name: &str| -> Result<usize> {
        let plan = spikelet::graph::Plan::new(traced(propagation)?, &*backend);
        // Step by step, the kernels of a step are the body of a loop.
        let bodies = plan
            .kernels
            .iter()
            .filter_map(|kernel| kernel.body.as_deref());
        let all = std::iter::once(&plan).chain(bodies);
        let named = |plan: &spikelet::graph::Plan| {
            let nodes = plan
                .kernels
                .iter()
                .map(|kernel| &plan.graph.nodes[kernel.node]);
            nodes.filter(|node| node.op.name() == name).count()
        };
        Ok(all.map(named).sum())
    };
    for propagation in [Propagation::LayerByLayer, Propagation::StepByStep] {
        assert_eq!(kernels(propagation, "lif")?, 1, "{propagation}");
    }
    assert_eq!(kernels(Propagation::StepByStepUnfused, "lif")?, 0);
    assert_eq!(kernels(Propagation::StepByStepUnfused, "map")?, 3);
    Ok(())
}

#[test]
fn a_layer_that_needs_the_whole_sequence_says_so() {
    let net = Sequential::new()
        .add(Linear::new(PIXELS, 4).bias(false))
        .add(TimeLast);
    let error = run(&net, Mode::EVAL, Propagation::StepByStep, &Poisson).expect_err("refused");
    let error: &spikelet::LayerError = error.downcast_ref().expect("a layer");
    assert_eq!(error.layer, "time last `1`");
    assert!(
        matches!(error.problem, spikelet::LayerProblem::StepByStep),
        "{error}"
    );
}

/// The program of SpikingJelly's tutorials on the forward pass: the times of a LIF layer as separate operations, as one
/// kernel a step and as one kernel, forward and with the backward pass.
#[test]
fn the_orders_are_timed_as_in_the_tutorial() -> Result<()> {
    let device = device::cpu()?;
    let (repeat_times, n) = (4, 2 * 20);
    let forward_backward = |propagation, t: usize, backward: bool| -> Result<Program> {
        let lif = Lif::new(2.0).surrogate(Atan { alpha: 2.0 });
        let cx = Context::new(Mode::TRAIN, DType::F32).propagation(propagation);
        let x = cx.tracer().input("x", DType::F32, [t, n]);
        let spikes = cx.trace(&lif, x.clone())?;
        cx.tracer().output("spike_seq", &spikes);
        if backward {
            let grads = cx.tracer().gradients(&spikes.sum_all(), &[&x]);
            cx.tracer().output("x.grad", &grads[0]);
        }
        let mut store = VarStore::new(device.clone());
        let program = cx.compile(&mut store, 0)?;
        program.set("x", &vec![0.7; t * n])?;
        Ok(program)
    };
    for backward in [false, true] {
        for t in [8, 16] {
            let mut calls = 0;
            for propagation in Propagation::ALL {
                let mut multi_step_neuron = forward_backward(propagation, t, backward)?;
                let used_t = cal_fun_t(repeat_times, &*device, || {
                    calls += 1;
                    multi_step_neuron.run()
                })?;
                let milliseconds = used_t * 1000.0;
                assert!(milliseconds > 0.0, "{propagation}");
            }
            assert_eq!(calls, 3 * (2 * repeat_times + 1));
        }
    }
    Ok(())
}
