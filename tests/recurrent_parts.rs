//! Recurrent layers in parts: over ranks, and over calls that carry the states.

use crate::feedback_block;
use crate::ranks_support as ranks;

use feedback_block::feedback_block;
use ranks::ranks;
use spikelet::device;
use spikelet::graph::Backend;
use spikelet::layer::RadLif;
use spikelet::module::Traced;
use spikelet::prelude::*;
use spikelet::train::step::RankInfo;
use spikelet::train::{Outputs, Step};
use spikelet_cpu::Cpu;
use std::sync::Arc;

/// Steps of a sequence.
const T: usize = 8;
/// Samples of a batch over all ranks.
const N: usize = 8;
const INPUTS: usize = 16;

fn lif() -> Lif {
    Lif::new(2.0).v_threshold(0.2)
}

/// Layers whose loops become recurrent scans. The states of the first start from random values, except those that are
/// carried from call to call.
fn fused() -> Sequential {
    Sequential::new()
        .add(RadLif::new(INPUTS, 12).normalize(false))
        .add(Rnn::new(lif(), 12, 10))
        .add(Linear::new(10, 2).bias(true))
}

/// Layers whose bodies stay loops: a convolution with feedback, and two layers inside one container.
fn looped() -> Sequential {
    let body = Sequential::new()
        .add(Linear::new(8, 8).bias(false))
        .add(lif());
    feedback_block(lif())
        .add(Linear::new(32, 8).bias(false))
        .add(Recurrent::new(body, 8))
        .add(Linear::new(8, 2).bias(false))
}

fn networks() -> [(&'static str, &'static str, Sequential); 2] {
    [
        ("fused", "recurrent_adlif", fused()),
        ("looped", "loop[T=", looped()),
    ]
}

/// Intensities from 0 to 1, and targets.
fn batch(number: usize) -> (Vec<f32>, Vec<f32>) {
    let value = |k: usize| ((k * 7919 + number * 104_729) % 1000) as f32 / 1000.0;
    let x = (0..N * INPUTS).map(value).collect();
    (x, (0..N * 2).map(|k| value(k + 31) - 0.5).collect())
}

/// The tensors after some updates on one of `ranks` ranks. Spikes and initial states are drawn: their random numbers
/// must be those of the whole batch.
fn trained(
    net: &Sequential,
    rank: usize,
    ranks: usize,
    device: Arc<dyn Backend>,
) -> Result<Vec<(String, Vec<f64>)>> {
    let mut store = VarStore::new(device);
    let mut step = Step::new(|cx, inputs| {
        let y = cx.trace_encoded(net, &Poisson, &inputs["x"], T)?.mean();
        Ok(Outputs::loss((&y - &inputs["target"]).square().mean_all()))
    })
    .batch_size(N / ranks)
    .input("x", DType::F32, [INPUTS])
    .input("target", DType::F32, [2])
    .optimizer(Adam::new(1e-2))
    .rank(RankInfo { rank, ranks }, false)
    .compile(&mut store)?;
    for number in 0..4 {
        let (x, target) = batch(number);
        let part =
            |all: &[f32]| all[rank * all.len() / ranks..(rank + 1) * all.len() / ranks].to_vec();
        let (x, target) = (part(&x), part(&target));
        step.run((("x", &x), ("target", &target)))?;
    }
    let names: Vec<String> = store.names().map(String::from).collect();
    let each = names.into_iter().map(|name| {
        let values = store.get(&name)?.to_f64();
        Ok((name, values))
    });
    each.collect()
}

#[test]
fn two_ranks_train_recurrent_layers_as_one_with_the_whole_batch() -> Result<()> {
    for (name, _, net) in &networks() {
        let one = trained(net, 0, 1, Arc::new(Cpu::new(1)?))?;
        let two = ranks(2, |rank, cpu| trained(net, rank, 2, cpu));
        let [a, b] = <[_; 2]>::try_from(two).expect("two ranks");
        let (a, b) = (a?, b?);
        assert_eq!(a, b, "{name}: both ranks have the same bits");
        for ((at, found), (expected_at, expected)) in a.iter().zip(&one) {
            assert_eq!(at, expected_at);
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-5,
                    "{name}: {at}: {found}, expected {expected}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn recurrent_networks_run_in_calls_of_any_length_with_the_bits_of_one_call() -> Result<()> {
    for (name, kernel, net) in &networks() {
        for dtype in [DType::F32, DType::F64] {
            let mut store = VarStore::new(device::cpu()?);
            let compile = |steps: usize, store: &mut VarStore| -> Result<(Program, Traced)> {
                let cx = Context::new(Mode::STREAM, dtype);
                let x = cx.tracer().input("x", dtype, [steps, 2, INPUTS]);
                let y = cx.trace(net, x)?;
                cx.tracer().output("y", &y);
                let traced = cx.traced();
                store.initialize(&traced, dtype, 3)?;
                Ok((Program::new(cx.tracer().finish()?, store)?, traced))
            };
            let x: Vec<f64> = (0..T * 2 * INPUTS)
                .map(|k| (k * 7 % 31) as f64 / 4.0)
                .collect();
            let run = |program: &mut Program, x: &[f64]| -> Result<Vec<f64>> {
                let x = Tensor::f64([x.len()], x.to_vec()).cast(dtype);
                program.set("x", spikelet::runtime::host(&x))?;
                program.run()?;
                Ok(program.get("y")?.to_f64())
            };
            let (mut whole, traced) = compile(T, &mut store)?;
            let plan = whole.plan().to_string();
            assert!(plan.contains(kernel), "{name}: {plan}");
            let states: Vec<String> = traced.states.iter().map(|s| s.name.clone()).collect();
            let of = |store: &VarStore| -> Result<Vec<Tensor>> {
                states.iter().map(|name| store.get(name)).collect()
            };
            let expected = run(&mut whole, &x)?;
            let varied = expected.iter().any(|y| *y != expected[0]);
            assert!(varied, "{name}: something fires");
            let last = of(&store)?;
            for length in [1, 2, 4] {
                let (mut part, _) = compile(length, &mut store)?;
                store.reset(&traced, dtype)?;
                let mut found = vec![];
                for x in x.chunks(length * 2 * INPUTS) {
                    found.extend(run(&mut part, x)?);
                }
                assert_eq!(found, expected, "{name}, {dtype:?}: calls of {length}");
                assert_eq!(of(&store)?, last, "{name}, {dtype:?}: calls of {length}");
            }
        }
    }
    Ok(())
}
