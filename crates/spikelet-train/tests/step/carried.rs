//! Sequences longer than a batch: states are carried from run to run.

use spikelet_nn::layer::DelayedLinear;
use spikelet_train::prelude::*;
use spikelet_train::{Outputs, Step, TrainStep};
use std::sync::Arc;

const SAMPLES: usize = 3;
const INPUTS: usize = 5;
const CLASSES: usize = 4;
const STEPS: usize = 12;

/// Two kinds of neurons, feedback, and delays: all that is carried.
fn network() -> Sequential {
    Sequential::new()
        .add(Rnn::new(Lif::new(2.0).v_threshold(0.2), INPUTS, 7))
        .add(DelayedLinear::new(7, 6, 3).bias(false))
        .add(Plif::new(2.0).v_threshold(0.1))
        .add(Linear::new(6, CLASSES).bias(false))
}

fn step(net: &Sequential, window: usize, carries: bool) -> Step<'_> {
    Step::new(|cx, inputs| {
        let scores = net.forward(cx, &inputs["x"])?;
        let loss = loss::CrossEntropy::new().ignore_label(-1);
        let loss = loss.loss(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss).output("scores", &scores))
    })
    .batch_size(SAMPLES)
    .sequence("x", DType::F32, [window, INPUTS])
    .sequence("labels", DType::I64, [window])
    .carry_states(carries)
    .read_gradients("*")
    .optimizer(Sgd::new(0.1))
}

fn inputs() -> Vec<f32> {
    let count = STEPS * SAMPLES * INPUTS;
    (0..count).map(|k| ((k * 37 % 23) as f32) / 11.0).collect()
}

/// Every third time step has no label.
fn labels() -> Vec<i64> {
    let label = |k: usize| match k / SAMPLES % 3 {
        2 => -1,
        _ => (k * 5 % CLASSES) as i64,
    };
    (0..STEPS * SAMPLES).map(label).collect()
}

/// The windows of a sequence.
fn windows<T>(values: &[T], window: usize) -> impl Iterator<Item = &[T]> {
    values.chunks(values.len() / (STEPS / window))
}

fn stores(net: &Sequential) -> Result<(VarStore, VarStore)> {
    let mut one = VarStore::new(spikelet_nn::device::cpu()?);
    step(net, STEPS, false).compile(&mut one)?;
    let mut other = VarStore::new(spikelet_nn::device::cpu()?);
    step(net, STEPS, false).compile(&mut other)?;
    Ok((one, other))
}

fn gradients(train: &TrainStep) -> Result<Vec<Vec<f64>>> {
    let names: Vec<String> = train.trained().map(str::to_string).collect();
    let grads = names.iter().map(|name| Ok(train.gradient(name)?.to_f64()));
    grads.collect()
}

#[test]
fn windows_of_a_sequence_have_its_bits() -> Result<()> {
    let net = network();
    let (mut one, mut other) = stores(&net)?;
    let mut whole = step(&net, STEPS, false).compile_eval(&mut one)?;
    let (x, labels) = (inputs(), labels());
    whole.run((("x", &x), ("labels", &labels)))?;
    let expected = whole.output("scores")?.to_f64();
    assert!(expected.iter().any(|score| *score != expected[0]));
    for window in [1, 2, 6] {
        let mut parts = step(&net, window, true).compile_eval(&mut other)?;
        // Twice, from the start.
        for _ in 0..2 {
            parts.reset(&mut other)?;
            let mut found = vec![];
            for (x, labels) in windows(&x, window).zip(windows(&labels, window)) {
                parts.run((("x", x), ("labels", labels)))?;
                found.extend(parts.output("scores")?.to_f64());
            }
            assert_eq!(found, expected, "windows of {window} steps");
        }
    }
    Ok(())
}

#[test]
fn a_window_of_all_steps_has_the_gradients_of_the_sequence() -> Result<()> {
    let net = network();
    let (mut one, mut other) = stores(&net)?;
    let mut whole = step(&net, STEPS, false).compile(&mut one)?;
    let mut carrying = step(&net, STEPS, true).compile(&mut other)?;
    let (x, labels) = (inputs(), labels());
    let values = || (("x", &x), ("labels", &labels));
    for _ in 0..3 {
        carrying.reset(&mut other)?;
        assert_eq!(carrying.run(values())?.loss, whole.run(values())?.loss);
        assert_eq!(gradients(&carrying)?, gradients(&whole)?);
    }
    // Without a reset the sequence goes on.
    assert_ne!(carrying.run(values())?.loss, whole.run(values())?.loss);
    Ok(())
}

#[test]
fn a_run_that_is_resumed_within_a_sequence_has_the_same_bits() -> Result<()> {
    let net = network();
    let (mut one, mut other) = stores(&net)?;
    let mut train = step(&net, 4, true).compile(&mut one)?;
    let (x, labels) = (inputs(), labels());
    let all: Vec<_> = windows(&x, 4).zip(windows(&labels, 4)).collect();
    let run = |train: &mut TrainStep, (x, labels): (&[f32], &[i64])| {
        Ok::<_, Error>(train.run((("x", x), ("labels", labels)))?.loss)
    };
    train.reset(&mut one)?;
    run(&mut train, all[0])?;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("step.safetensors");
    train.save_state(&one, &file)?;
    let expected = [run(&mut train, all[1])?, run(&mut train, all[2])?];

    let mut resumed = step(&net, 4, true).compile(&mut other)?;
    resumed.resume(&mut other, &file)?;
    assert_eq!(
        [run(&mut resumed, all[1])?, run(&mut resumed, all[2])?],
        expected
    );
    Ok(())
}

#[test]
fn the_memory_of_a_long_sequence_is_that_of_a_window() -> Result<()> {
    let net = network();
    // Each thread has a workspace of its own.
    let mut store = VarStore::new(Arc::new(spikelet_cpu::Cpu::new(2)?));
    let mut train = step(&net, 4, true).compile(&mut store)?;
    let whole = step(&net, 400, true).plan(&**store.backend())?;
    let (window, whole) = (train.plan().peak_bytes(), whole.plan().peak_bytes());
    assert!(5 * window < whole, "{window} and {whole} bytes");
    let tensors = |store: &VarStore| -> Vec<_> {
        let names = store.names();
        let each = names.map(|name| (name.to_string(), store.ty(name).cloned()));
        each.collect()
    };
    let before = (tensors(&store), store.arena_bytes());
    let (x, labels) = (inputs(), labels());
    let all: Vec<_> = windows(&x, 4).zip(windows(&labels, 4)).collect();
    for (x, labels) in all.iter().cycle().take(100) {
        train.run((("x", x), ("labels", labels)))?;
    }
    assert_eq!((tensors(&store), store.arena_bytes()), before);
    Ok(())
}
