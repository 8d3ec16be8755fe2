//! Monitors of layers against counts over the recorded values.

use spikelet_core::Result;
use spikelet_data::{DataLoader, LoaderConfig, synthetic};
use spikelet_train::prelude::*;
use spikelet_train::{Inputs, Monitor, Outputs, Step, StepError};

const T: usize = 5;

/// Two layers; the first has neurons that never fire and neurons that always do.
fn step(samples: usize) -> Step<'static> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 20).bias(true))
        .add(Lif::new(1.5))
        .add(Linear::new(20, 10).bias(false))
        .add(Lif {
            common: Common {
                v_threshold: 0.5,
                ..Common::default()
            },
            ..Lif::new(2.0)
        });
    Step::new(move |cx: &Context, inputs: &Inputs| {
        let x = (&inputs["images"] * 4.0).repeat_over_time(T);
        let scores = net.forward(cx, &x)?.mean(&[0]);
        Ok(Outputs::loss(loss::cross_entropy(
            &scores,
            &inputs["labels"],
        )))
    })
    .batch_size(samples)
    .input("images", DType::F32, [1, 28, 28])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-3))
    .seed(1)
}

/// Weights with which three neurons are silent and two saturated.
fn sick(store: &mut VarStore) -> Result<()> {
    let mut bias = vec![0.0_f32; 20];
    bias[..3].fill(-1e6);
    bias[5..7].fill(1e6);
    store.set("1.bias", &spikelet_graph::Tensor::f32([20], bias))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * b.abs().max(1.0)
}

#[test]
fn monitors_equal_a_count_over_the_recorded_values() -> Result<()> {
    const N: usize = 37;
    let digits = synthetic::digits_of(3, 8, N).test;
    let all = Monitor::ALL.into_iter();
    let monitored = all.fold(step(N), |step, monitor| step.monitor(monitor, "*"));
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let recorded = step(N).read_activations("*.spike_seq");
    let mut eval = recorded.compile_eval(&mut store)?;
    sick(&mut store)?;
    let loader = DataLoader::new(
        digits,
        LoaderConfig {
            batch_size: N,
            shuffle: false,
            ..LoaderConfig::default()
        },
    )?;
    let batch = loader.epoch(0, 0).next().expect("a batch")?;
    eval.run_batch(&batch)?;
    let found = monitored.evaluate(&loader, &mut store)?;
    for (layer, neurons) in [("2", 20), ("4", 10)] {
        let spikes = eval.activation(&format!("{layer}.spike_seq"))?.to_f64();
        let mut counts = vec![0.0; neurons];
        for step in spikes.chunks_exact(neurons) {
            counts
                .iter_mut()
                .zip(step)
                .for_each(|(count, spike)| *count += spike);
        }
        let of = |test: &dyn Fn(f64) -> bool| {
            counts.iter().filter(|&&count| test(count)).count() as f64 / neurons as f64
        };
        let total: f64 = counts.iter().sum();
        let expected = [
            ("rate", total / (T * N * neurons) as f64),
            ("dead", of(&|count| count == 0.0)),
            ("saturated", of(&|count| count == (T * N) as f64)),
        ];
        for (name, value) in expected {
            let found = found.get(&format!("{layer}.{name}")).expect("a monitor");
            assert!(near(found, value), "{layer}.{name}: {found} {value}");
        }
    }
    assert!(found.get("2.dead").is_some_and(|dead| dead >= 0.15));
    assert!(
        found
            .get("2.saturated")
            .is_some_and(|saturated| saturated >= 0.1)
    );
    Ok(())
}

#[test]
fn potentials_are_those_of_the_neurons() -> Result<()> {
    // V of a non-leaky neuron that never reaches its threshold: the sum of its inputs.
    let net = If {
        common: Common {
            v_threshold: 100.0,
            ..Common::default()
        },
    };
    let step = Step::new(move |cx: &Context, inputs: &Inputs| {
        let y = net.forward(cx, &(&inputs["x"] * 1.0))?;
        let weight = cx.parameter("weight", [1], Init::Constant(1.0));
        Ok(Outputs::loss((y.mean(&[0]) * weight).mean_all()))
    })
    .batch_size(2)
    .sequence("x", DType::F32, [3, 1])
    .optimizer(Adam::new(1e-3))
    .monitor(Monitor::Potential, "*");
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let mut eval = step.compile_eval(&mut store)?;
    // Two samples: 1, 1, 1 and 2, 0, 4.
    let found = eval.run([("x", &[1.0, 2.0, 1.0, 0.0, 1.0, 4.0])])?;
    let v = [1.0, 2.0, 2.0, 2.0, 3.0, 6.0];
    let mean = v.iter().sum::<f64>() / 6.0;
    let variance = v.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 6.0;
    let value = |name: &str| found.get(name).expect("a monitor");
    assert!(near(value("potential"), mean));
    assert!(near(value("potential_std"), variance.sqrt()));
    assert!(near(value("distance"), 100.0 - mean));
    Ok(())
}

#[test]
fn norms_of_gradients_are_those_of_the_step() -> Result<()> {
    for precision in [Precision::F32, Precision::F16] {
        let own = step(16)
            .precision(precision)
            .read_gradients("*")
            .monitor(Monitor::Gradient, "*.weight");
        let digits = synthetic::digits_of(0, 16, 1).train;
        let loader = DataLoader::new(
            digits,
            LoaderConfig {
                batch_size: 16,
                ..LoaderConfig::default()
            },
        )?;
        let batch = loader.epoch(0, 0).next().expect("a batch")?;
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        let mut train = own.compile(&mut store)?;
        let found = train.run_batch(&batch)?;
        for name in ["1.weight", "3.weight"] {
            let squares: f64 = train.gradient(name)?.to_f64().iter().map(|g| g * g).sum();
            let value = found.get(&format!("{name}.gradient")).expect("a monitor");
            let difference = (value - squares.sqrt()).abs() / squares.sqrt().max(1e-12);
            assert!(difference < 1e-4, "{name}: {value} {}", squares.sqrt());
        }
        assert!(found.get("1.bias.gradient").is_none());
    }
    Ok(())
}

#[test]
fn a_pattern_without_a_layer_is_refused() -> Result<()> {
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    for (monitor, pattern) in [(Monitor::Rate, "conv.*"), (Monitor::Gradient, "9.*")] {
        let refused = step(4).monitor(monitor, pattern).compile(&mut store);
        let error = refused.expect_err("no such layer");
        assert!(
            matches!(
                error.downcast_ref::<StepError>(),
                Some(StepError::NoMatch { .. })
            ),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn a_rate_is_exact_where_the_number_of_spikes_is_no_f32() -> Result<()> {
    const SAMPLES: usize = 300;
    const NEURONS: usize = 4096;
    const STEPS: usize = 16;
    let net = If::new();
    let step = Step::new(move |cx: &Context, inputs: &Inputs| {
        let weight = cx.parameter("weight", [1], Init::Constant(1.0));
        let y = cx.child("if", |cx| {
            net.forward(cx, &inputs["x"].repeat_over_time(STEPS))
        })?;
        Ok(Outputs::loss((y.mean(&[0]) * weight).mean_all()))
    })
    .batch_size(SAMPLES)
    .input("x", DType::F32, [NEURONS])
    .optimizer(Adam::new(1e-3))
    .monitor(Monitor::Rate, "if")
    .monitor(Monitor::Neurons, "if");
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let mut eval = step.compile_eval(&mut store)?;
    // All neurons fire at every step, but one, which fires at the last one.
    let mut x = vec![1.0_f32; SAMPLES * NEURONS];
    x[7] = 1.0 / STEPS as f32;
    let found = eval.run([("x", &x)])?;
    let all = SAMPLES * NEURONS * STEPS;
    let spikes = all - (STEPS - 1);
    assert!(spikes > 1 << 24 && spikes as f32 as usize != spikes);
    assert_eq!(found.get("if.rate"), Some(spikes as f64 / all as f64));
    assert_eq!(found.get("if.dead"), Some(0.0));
    let saturated = (NEURONS - 1) as f64 / NEURONS as f64;
    assert_eq!(found.get("if.saturated"), Some(saturated));
    Ok(())
}
