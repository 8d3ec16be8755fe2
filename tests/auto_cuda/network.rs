//! Two layers that learn, with neurons of auto_cuda and with those that are built in.

use crate::auto_cuda::nodes::{Kind, Node, gpu};
use crate::largest::larger;
use spikelet::device;
use spikelet::prelude::*;
use spikelet::runtime::host;
use std::sync::Arc;

const STEPS: usize = 6;
const BATCH: usize = 8;
const PIXELS: usize = 12;
/// Odd, so that halves are padded: 8·33 neurons are even, 1·33 are not.
const HIDDEN: usize = 33;
const CLASSES: usize = 17;

/// A layer whose sequences are halves, as `half2` wants them.
struct InHalves(Node);

impl Module for InHalves {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let spikes = self.0.forward(cx, &x.cast(DType::F16))?;
        Ok(spikes.cast(DType::F32))
    }
}

fn network(neuron: impl Fn() -> Box<dyn Module>) -> Sequential {
    Sequential::new()
        .add_named("fc1", Linear::new(PIXELS, HIDDEN).bias(true))
        .add_named("node1", neuron())
        .add_named("fc2", Linear::new(HIDDEN, CLASSES).bias(false))
        .add_named("node2", neuron())
}

/// The losses of steps of gradient descent, and all parameters after them.
struct Trained {
    losses: Vec<f64>,
    weights: Vec<(String, Vec<f64>)>,
}

fn train(net: &Sequential, backend: &Arc<dyn Backend>, batch: usize) -> Result<Trained> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let tracer = cx.tracer();
    let x = tracer.input("x_seq", DType::F32, [STEPS, batch, PIXELS]);
    let rate = cx.trace(net, x)?.mean(&[0]);
    let loss = (rate - 0.4).square().mean_all();
    let traced = cx.traced();
    let weights: Vec<Var> = (traced.parameters.iter())
        .filter_map(|p| tracer.find_input(&p.name))
        .collect();
    let grads = tracer.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    for (weight, grad) in weights.iter().zip(&grads) {
        tracer.update(weight, &(weight - grad * 0.1));
    }
    tracer.output("loss", &loss);
    let mut store = VarStore::new(backend.clone());
    store.initialize(&traced, DType::F32, 3)?;
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let pixel = |k: usize| (k * 37 % 101) as f32 / 40.0;
    let values: Vec<f32> = (0..STEPS * batch * PIXELS).map(pixel).collect();
    let x_seq = Tensor::f32([STEPS, batch, PIXELS], values);
    let mut losses = vec![];
    // The first step goes kernel by kernel, the others replay a recording.
    for _ in 0..4 {
        program.set("x_seq", host(&x_seq))?;
        program.run()?;
        losses.push(program.scalar("loss")?);
    }
    let values = traced.parameters.iter().map(|p| {
        let tensor = store.get(&p.name)?;
        Ok((p.name.clone(), tensor.to_f64()))
    });
    let weights = values.collect::<Result<_>>()?;
    Ok(Trained { losses, weights })
}

fn check(backend: &Arc<dyn Backend>, in_halves: bool) -> Result<()> {
    // Rounding to half precision changes a few spikes.
    let [of_loss, of_weights] = if in_halves { [0.25, 0.05] } else { [1e-4; 2] };
    for kind in Kind::ALL {
        for v_reset in [Some(0.0), None] {
            for batch in [BATCH, 1] {
                let common = Common {
                    v_threshold: 0.1,
                    v_reset,
                    ..Common::default()
                };
                let node = Node { kind, common };
                let own = network(|| match in_halves {
                    true => Box::new(InHalves(node.clone())),
                    false => Box::new(node.clone()),
                });
                let built_in = network(|| Box::new(node.built_in()));
                let Trained { losses, weights } = train(&own, backend, batch)?;
                let Trained {
                    losses: expected,
                    weights: known,
                } = train(&built_in, backend, batch)?;
                let what = format!("{node:?}, batch {batch}: {losses:?} and {expected:?}");
                assert!(losses[0] != losses[3], "nothing is learned: {what}");
                for (loss, expected) in losses.iter().zip(&expected) {
                    assert!((loss - expected).abs() <= of_loss * expected, "{what}");
                }
                for ((name, own), (_, known)) in weights.iter().zip(&known) {
                    let pairs = own.iter().zip(known);
                    let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger);
                    assert!(apart <= of_weights, "{name} is apart by {apart}: {what}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_network_learns_as_with_the_neurons_that_are_built_in() -> Result<()> {
    check(&device::cpu()?, false)
}

#[test]
fn a_network_in_halves_learns_on_the_cpu() -> Result<()> {
    check(&device::cpu()?, true)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_network_learns_as_with_the_neurons_that_are_built_in_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    check(&gpu, false)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_network_in_halves_learns_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    check(&gpu, true)
}

/// States go from call to call, as everywhere.
fn check_calls(backend: Arc<dyn Backend>) -> Result<()> {
    let run = |backend: Arc<dyn Backend>, steps: usize| -> Result<Vec<f64>> {
        let node = Node {
            kind: Kind::Lif { decay_input: true },
            common: Common::default(),
        };
        let cx = Context::new(Mode::STREAM, DType::F32);
        let x = cx.tracer().input("x_seq", DType::F32, [steps, 2, 3]);
        let spikes = cx.trace(&node, x)?;
        cx.tracer().output("spike_seq", &spikes);
        let mut store = VarStore::new(backend);
        store.initialize(&cx.traced(), DType::F32, 0)?;
        let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
        let x: Vec<f32> = (0..8 * 6).map(|k| (k % 7) as f32 / 2.0).collect();
        let mut all = vec![];
        for part in x.chunks(6 * steps) {
            program.set("x_seq", part)?;
            program.run()?;
            all.extend(program.get("spike_seq")?.to_f64());
        }
        Ok(all)
    };
    let whole = run(backend.clone(), 8)?;
    assert!(whole.contains(&0.0) && whole.contains(&1.0));
    assert_eq!(whole, run(backend.clone(), 4)?);
    assert_eq!(whole, run(backend, 1)?);
    Ok(())
}

#[test]
fn a_sequence_in_two_calls_gives_the_spikes_of_one() -> Result<()> {
    check_calls(device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_sequence_in_two_calls_gives_the_spikes_of_one_on_a_gpu() -> Result<()> {
    check_calls(gpu())
}
