//! Layers with learning rules, on a GPU beside the CPU.

use crate::gpu as support;

use spikelet::Result;
use spikelet::graph::{Backend, Tensor};
use spikelet::layer::Feedback;
use spikelet::learning::{
    ClassReward, PairStdp, Plastic, PlasticRecurrent, RewardStdp, RewardTraceStdp, Stdp, Update,
};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};
use std::sync::Arc;
use support::gpu;

const STEPS: usize = 30;
const INPUTS: usize = 24;
const NEURONS: usize = 16;
const SEQUENCES: usize = 3;

fn network(update: Update) -> Sequential {
    let weights = |low, high| Init::Between { low, high };
    let connections = Feedback::new(NEURONS)
        .zero_diagonal(true)
        .weight_init(weights(-0.2, 0.2));
    let neurons = PlasticRecurrent::new(connections, Lif::new(2.0), Stdp::default())
        .update(update)
        .lr(0.01)
        .bounds(-0.5, 0.5);
    if update == Update::EndOfCall {
        let input = Linear::new(INPUTS, NEURONS)
            .bias(false)
            .weight_init(weights(0.0, 0.6));
        return Sequential::new().add(input).add_named("neurons", neurons);
    }
    let synapses = Linear::new(INPUTS, NEURONS)
        .bias(false)
        .weight_init(weights(0.0, 0.6));
    let layer = Plastic::new(synapses, neurons, PairStdp::default()).normalize(6.0);
    Sequential::new().add(layer)
}

fn step(net: &Sequential, samples: usize) -> Step<'_> {
    Step::new(move |cx, inputs| {
        let spikes = cx.child("layer", |cx| cx.trace(net, inputs["x"].clone()))?;
        let scores = cx.child("readout", |cx| {
            Linear::new(NEURONS, 2).bias(false).forward(cx, &spikes)
        })?;
        Ok(Outputs::loss(scores.mean_all()).output("spikes", &spikes))
    })
    .batch_size(samples)
    .sequence("x", DType::F32, [STEPS, INPUTS])
    .optimizer(Adam::new(0.1))
}

/// Pseudorandom spikes.
fn spikes(count: usize) -> Vec<f32> {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f32::from(u8::from(state >> 62 == 0))
    };
    (0..count).map(|_| next()).collect()
}

/// The spikes in a stream, or the loss of each sequence, and the weights after them.
fn learned(net: &Sequential, backend: &Arc<dyn Backend>, stream: bool) -> Result<Learned> {
    let mut store = VarStore::new(backend.clone());
    let samples = if stream { 1 } else { 4 };
    let step = step(net, samples);
    let mut made = vec![];
    let part = samples * INPUTS;
    if stream {
        let mut stream = step.compile_learning_stream(&mut store)?;
        for frame in spikes(SEQUENCES * STEPS * part).chunks(part) {
            stream.predict([("x", frame)])?;
            made.extend(stream.output("spikes")?.to_f64());
        }
    } else {
        let mut train = step.compile(&mut store)?;
        for sequence in spikes(SEQUENCES * STEPS * part).chunks(STEPS * part) {
            let metrics = train.run([("x", sequence)])?;
            made.push(metrics.loss);
        }
    }
    let names: Vec<String> = store.names().map(str::to_string).collect();
    let weights = names.iter().filter(|name| name.ends_with("weight"));
    let weights = weights.map(|name| Ok((name.clone(), store.get(name)?)));
    Ok((made, weights.collect::<Result<_>>()?))
}

type Learned = (Vec<f64>, Vec<(String, Tensor)>);

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn weights_change_on_a_gpu_as_on_the_cpu() -> Result<()> {
    for (update, stream) in [
        (Update::EachStep, false),
        (Update::EndOfCall, false),
        (Update::EachStep, true),
    ] {
        let net = network(update);
        let expected = learned(&net, &spikelet::device::cpu()?, stream)?;
        let made = learned(&net, &gpu(), stream)?;
        match stream {
            true => assert_eq!(made.0, expected.0, "spikes"),
            false => assert!(
                made.0
                    .iter()
                    .zip(&expected.0)
                    .all(|(a, b)| (a - b).abs() < 1e-5)
            ),
        }
        assert!(expected.0.iter().any(|x| *x != 0.0));
        same_weights(&made.1, &expected.1);
    }
    Ok(())
}

fn same_weights(made: &[(String, Tensor)], expected: &[(String, Tensor)]) {
    for ((name, made), (_, expected)) in made.iter().zip(expected) {
        let pairs = made.to_f64().into_iter().zip(expected.to_f64());
        let difference = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(difference < 1e-5, "{name} differs by {difference:e}");
    }
}

/// The weights of a convolution and a linear layer that learn by rewards for classes.
fn rewarded(backend: &Arc<dyn Backend>) -> Result<Vec<(String, Tensor)>> {
    const CLASSES: usize = 2;
    let reward = ClassReward {
        classes: CLASSES,
        right: 1.0,
        wrong: -0.5,
    };
    let init = Init::Between {
        low: 0.0,
        high: 0.6,
    };
    let convolution = Conv2d::new(1, 4, 3).bias(false).weight_init(init);
    let linear = Linear::new(4 * 2 * 4, 6).bias(false).weight_init(init);
    let net = Sequential::new()
        .add(
            Plastic::new(convolution, Lif::new(2.0), RewardStdp::default())
                .reward(reward)
                .lr(0.01),
        )
        .add(Flatten)
        .add(
            Plastic::new(linear, Lif::new(2.0), RewardTraceStdp::default())
                .reward(reward)
                .lr(0.01),
        );
    let step = Step::new(|cx, inputs| {
        cx.give_label(&inputs["labels"]);
        let spikes = cx.child("net", |cx| net.forward(cx, &inputs["x"]))?;
        Ok(Outputs::loss(spikes.mean_all()))
    })
    .batch_size(4)
    .sequence("x", DType::F32, [STEPS, 1, 4, 6])
    .input("labels", DType::I64, []);
    let mut store = VarStore::new(backend.clone());
    let mut train = step.compile(&mut store)?;
    let names = ["net.0.synapses.weight", "net.2.synapses.weight"];
    let weights = |store: &VarStore| -> Result<Vec<_>> {
        let weight = |name: &str| Ok((name.to_string(), store.get(name)?));
        names.iter().map(|name| weight(name)).collect()
    };
    let before = weights(&store)?;
    for sequence in spikes(SEQUENCES * STEPS * 4 * INPUTS).chunks(STEPS * 4 * INPUTS) {
        train.run((("x", sequence), ("labels", &[0, 1, 1, 0])))?;
    }
    let after = weights(&store)?;
    assert_ne!(before, after);
    Ok(after)
}

#[test]
fn rewards_change_the_weights_of_a_network_without_parameters() -> Result<()> {
    rewarded(&spikelet::device::cpu()?).map(drop)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn rewards_change_weights_on_a_gpu_as_on_the_cpu() -> Result<()> {
    same_weights(&rewarded(&gpu())?, &rewarded(&spikelet::device::cpu()?)?);
    Ok(())
}
