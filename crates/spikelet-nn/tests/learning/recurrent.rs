//! Rules on recurrent connections, beside loops over neurons in plain Rust.

use crate::learning::common::{Traced, near, numbers, stdp};
use spikelet_graph::{DType, Tensor};
use spikelet_nn::layer::Feedback;
use spikelet_nn::learning::{Plastic, PlasticRecurrent, Update};
use spikelet_nn::module::Context;
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;

const STEPS: usize = 40;
const BATCH: usize = 3;
const SIZE: usize = 5;
const RATE: f64 = 0.03;
const TAU: f64 = 2.0;
const THRESHOLD: f64 = 0.3;
const WEIGHT: &str = "feedback.weight";

fn layer(update: Update) -> PlasticRecurrent {
    let neuron = Lif::new(TAU).v_threshold(THRESHOLD);
    let connections = Feedback::new(SIZE).zero_diagonal(true);
    let layer = PlasticRecurrent::new(connections, neuron, stdp()).update(update);
    match update {
        Update::Gradient => layer,
        _ => layer.lr(RATE),
    }
}

/// The spikes and the weights after all steps, or with `each_step` as they change in each.
fn expected(x: &[f64], weight: &[f64], each_step: bool) -> (Vec<f64>, Vec<f64>) {
    let rule = stdp();
    let (mut weight, start) = (weight.to_vec(), weight.to_vec());
    let [mut v, mut s, mut pre, mut post] = [(); 4].map(|()| vec![0.0; BATCH * SIZE]);
    let mut spikes = vec![];
    for x in x.chunks(BATCH * SIZE) {
        let known = if each_step {
            weight.clone()
        } else {
            start.clone()
        };
        let mut next = s.clone();
        for n in 0..BATCH {
            let at = |i: usize| n * SIZE + i;
            for i in 0..SIZE {
                let others = (0..SIZE).filter(|j| *j != i);
                let fed: f64 = others.map(|j| known[i * SIZE + j] * s[at(j)]).sum();
                let charged = v[at(i)] + (x[at(i)] + fed - v[at(i)]) / TAU;
                let fired = charged >= THRESHOLD;
                next[at(i)] = f64::from(u8::from(fired));
                v[at(i)] = if fired { 0.0 } else { charged };
            }
        }
        for k in 0..BATCH * SIZE {
            pre[k] += s[k] - pre[k] / rule.tau_pre;
            post[k] += next[k] - post[k] / rule.tau_post;
        }
        for (k, w) in weight.iter_mut().enumerate() {
            let (i, j) = (k / SIZE, k % SIZE);
            let w_now = known[k];
            for n in 0..BATCH {
                let (i, j) = (n * SIZE + i, n * SIZE + j);
                *w += RATE * (1.0 - w_now) * (next[i] * pre[j] - 0.7 * s[j] * post[i]);
            }
        }
        spikes.extend_from_slice(&next);
        s = next;
    }
    (spikes, weight)
}

fn given() -> (Tensor, Tensor) {
    let weight = numbers(&[SIZE, SIZE], 2);
    (numbers(&[STEPS, BATCH, SIZE], 1), weight)
}

#[test]
fn recurrent_weights_change_in_each_step_or_at_the_end() {
    let (x, weight) = given();
    for update in [Update::EachStep, Update::EndOfCall] {
        let mut traced = Traced::training();
        let input = traced.input("x", x.clone());
        traced.set(WEIGHT, weight.clone());
        let s = traced.cx.trace(&layer(update), input).expect("a layer");
        traced.output("s", &s);
        let made = traced.run(&[WEIGHT]);
        let each_step = update == Update::EachStep;
        let (spikes, after) = expected(&x.to_f64(), &weight.to_f64(), each_step);
        assert!(spikes.iter().sum::<f64>() > 50.0);
        assert_eq!(made["s"], spikes, "{update:?}");
        near(&made[WEIGHT], &after, 1e-12);
    }
}

#[test]
fn the_change_is_subtracted_from_the_gradient_of_recurrent_weights() {
    let (x, weight) = given();
    let mut traced = Traced::training();
    let input = traced.input("x", x.clone());
    traced.set(WEIGHT, weight.clone());
    let layer = layer(Update::Gradient);
    traced.cx.trace(&layer, input).expect("a layer");
    let loss = traced.cx.traced().losses[0].clone();
    let parameter = traced.cx.tracer().find_input(WEIGHT).expect("a parameter");
    let gradient = traced.cx.tracer().gradients(&loss, &[&parameter]);
    traced.output("gradient", &gradient[0]);
    let made = traced.run(&[]);
    let start = weight.to_f64();
    let (_, after) = expected(&x.to_f64(), &start, false);
    let change = after.iter().zip(&start).map(|(a, w)| -(a - w) / RATE);
    near(&made["gradient"], &change.collect::<Vec<_>>(), 1e-12);
}

#[test]
fn recurrent_learning_continues_from_call_to_call() {
    let (x, weight) = given();
    let (_, after) = expected(&x.to_f64(), &weight.to_f64(), true);
    let mode = Mode {
        training: true,
        carry_state: true,
    };
    for steps in [STEPS, 8, 1] {
        let mut traced = Traced::new(Context::new(mode, DType::F64));
        let shape = [steps, BATCH, SIZE];
        let input = traced.cx.tracer().input("x", DType::F64, shape);
        traced.set(WEIGHT, weight.clone());
        let layer = layer(Update::EachStep);
        let s = traced.cx.trace(&layer, input).expect("a layer");
        traced.output("s", &s);
        let (store, mut program) = traced.compile();
        for part in x.to_f64().chunks(steps * BATCH * SIZE) {
            let part = Tensor::f64(shape, part);
            program.run_with(vec![("x", host(&part))]).expect("a run");
        }
        let made = store.get(WEIGHT).expect("the weight").to_f64();
        near(&made, &after, 1e-12);
    }
}

#[test]
fn a_layer_without_learning_is_a_recurrent_layer() {
    let (x, weight) = given();
    let run = |module: &dyn Module| {
        let mut traced = Traced::new(Context::new(Mode::EVAL, DType::F64));
        let input = traced.input("x", x.clone());
        traced.set(WEIGHT, weight.clone());
        let s = traced.cx.trace(module, input).expect("a layer");
        traced.output("s", &s);
        traced.run(&[WEIGHT])
    };
    let neuron = Lif::new(TAU).v_threshold(THRESHOLD);
    let recurrent = Recurrent::through(neuron, Feedback::new(SIZE).zero_diagonal(true));
    assert_eq!(run(&layer(Update::EachStep)), run(&recurrent));
}

#[test]
fn the_weights_of_inputs_and_of_recurrent_connections_have_rules_of_their_own() {
    let (x, recurrent) = given();
    let run = |input_rate: f64| {
        let mut traced = Traced::training();
        let input = traced.input("x", x.clone());
        let eye = (0..SIZE * SIZE).map(|k| f64::from(u8::from(k % (SIZE + 1) == 0)));
        let eye = Tensor::f64([SIZE, SIZE], eye.collect::<Vec<_>>());
        traced.set("synapses.weight", eye);
        traced.set("neuron.feedback.weight", recurrent.clone());
        let neurons = layer(Update::EachStep);
        let layer = Plastic::new(Linear::new(SIZE, SIZE).bias(false), neurons, stdp());
        let s = traced.cx.trace(&layer.lr(input_rate), input);
        traced.output("s", &s.expect("a layer"));
        assert_eq!(traced.cx.traced().plastic.len(), 2);
        traced.run(&["synapses.weight", "neuron.feedback.weight"])
    };
    let (spikes, after) = expected(&x.to_f64(), &recurrent.to_f64(), true);
    let made = run(0.0);
    assert_eq!(made["s"], spikes);
    near(&made["neuron.feedback.weight"], &after, 1e-12);
    let both = run(0.001);
    assert_ne!(both["synapses.weight"], made["synapses.weight"]);
    assert_ne!(
        both["neuron.feedback.weight"],
        made["neuron.feedback.weight"]
    );
}
