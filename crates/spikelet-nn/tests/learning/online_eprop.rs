//! The layer that learns by e-prop online computes what back-propagation does in a network with a local gradient.

use crate::learning::common::{Traced, near, numbers, spikes};
use spikelet_graph::{DType, Tensor};
use spikelet_nn::layer::Feedback;
use spikelet_nn::learning::{EpropError, EpropFeedback, OnlineEprop, RateRegularization, Update};
use spikelet_nn::neuron::EpropAlif;
use spikelet_nn::prelude::*;
use std::collections::BTreeMap;

const STEPS: usize = 25;
const BATCH: usize = 3;
const INPUTS: usize = 6;
const HIDDEN: usize = 7;
const OUTPUTS: usize = 2;

/// The tensors of the layer, and those of the same network of other layers.
const NAMES: [(&str, &str); 4] = [
    ("input.weight", "0.weight"),
    ("recurrent.weight", "1.feedback.weight"),
    ("readout.weight", "2.weight"),
    ("readout.bias", "2.bias"),
];

fn neuron() -> EpropAlif {
    EpropAlif {
        refractory: 2,
        ..EpropAlif::default()
    }
}

fn layer() -> OnlineEprop {
    OnlineEprop::new([INPUTS, HIDDEN, OUTPUTS], neuron())
}

fn weights() -> [Tensor; 4] {
    let scaled = |shape: &[usize], seed, factor: f64| {
        let values = numbers(shape, seed).to_f64();
        Tensor::f64(shape, values.iter().map(|w| w * factor).collect::<Vec<_>>())
    };
    [
        scaled(&[HIDDEN, INPUTS], 3, 0.8),
        scaled(&[HIDDEN, HIDDEN], 4, 0.5),
        numbers(&[OUTPUTS, HIDDEN], 5),
        numbers(&[OUTPUTS], 6),
    ]
}

fn given(traced: &mut Traced) -> (spikelet_graph::Var, spikelet_graph::Var) {
    let x = traced.input("x", spikes(&[STEPS, BATCH, INPUTS], 0.4, 1));
    let target = traced.input("target", numbers(&[STEPS, BATCH, OUTPUTS], 2));
    (x, target)
}

/// The outputs and the gradients of a layer, or its tensors after the run where they are buffers.
fn run(layer: &OnlineEprop, update: Update) -> BTreeMap<String, Vec<f64>> {
    let mut traced = Traced::training();
    let (x, target) = given(&mut traced);
    for ((name, _), tensor) in NAMES.iter().zip(weights()) {
        traced.set(name, tensor);
    }
    traced.cx.give_signal("target", &target);
    let y = traced.cx.trace(layer, x).expect("a layer");
    traced.output("y", &y);
    if update != Update::Gradient {
        return traced.run(&NAMES.map(|(name, _)| name));
    }
    let losses = traced.cx.traced().losses;
    let loss = losses.iter().skip(1).fold(losses[0].clone(), |a, b| a + b);
    let parameters = traced.cx.traced().parameters;
    let tensors: Vec<_> = parameters
        .iter()
        .map(|p| traced.cx.tracer().find_input(&p.name).expect("a parameter"))
        .collect();
    let grads = traced
        .cx
        .tracer()
        .gradients(&loss, &tensors.iter().collect::<Vec<_>>());
    for (parameter, grad) in parameters.iter().zip(&grads) {
        traced.output(&format!("gradient of {}", parameter.name), grad);
    }
    traced.run(&[])
}

/// The gradients of the network with a local gradient.
fn backpropagated(error: EpropError) -> BTreeMap<String, Vec<f64>> {
    let mut traced = Traced::training();
    let (x, target) = given(&mut traced);
    for ((_, name), tensor) in NAMES.iter().zip(weights()) {
        traced.set(name, tensor);
    }
    let feedback = Feedback::new(HIDDEN).zero_diagonal(true);
    let net = Sequential::new()
        .add(Linear::new(INPUTS, HIDDEN).bias(false))
        .add(Recurrent::through(neuron(), feedback).local_gradient())
        .add(Linear::new(HIDDEN, OUTPUTS).bias(true));
    let y = traced.cx.trace(&net, x).expect("a network");
    let loss = match error {
        EpropError::Squared => (&y - target).square().sum_all() * 0.5,
        EpropError::CrossEntropy => {
            // Its derivative is softmax(y)·Σ target − target: the targets are made to add up to 1.
            (target.softmax() * y.log_softmax()).sum_all() * -1.0
        }
    };
    let tensors = NAMES.map(|(_, name)| traced.cx.tracer().find_input(name).expect("a weight"));
    let grads = traced.cx.tracer().gradients(&loss, &tensors.each_ref());
    for ((name, _), grad) in NAMES.iter().zip(&grads) {
        traced.output(&format!("gradient of {name}"), grad);
    }
    traced.output("y", &y);
    traced.run(&[])
}

fn same(found: &BTreeMap<String, Vec<f64>>, expected: &BTreeMap<String, Vec<f64>>) {
    for (name, values) in expected {
        near(&found[name], values, 1e-12);
    }
}

#[test]
fn its_changes_are_the_gradients_of_a_network_with_a_local_gradient() {
    let found = run(&layer(), Update::Gradient);
    same(&found, &backpropagated(EpropError::Squared));
    let recurrent = &found["gradient of recurrent.weight"];
    assert!((0..HIDDEN).all(|k| recurrent[k * HIDDEN + k] == 0.0));
}

#[test]
fn the_error_of_classes_is_the_derivative_of_the_cross_entropy() {
    let expected = backpropagated(EpropError::CrossEntropy);
    let mut traced = Traced::training();
    let (x, target) = given(&mut traced);
    for ((name, _), tensor) in NAMES.iter().zip(weights()) {
        traced.set(name, tensor);
    }
    traced.cx.give_signal("target", &target.softmax());
    let layer = layer().error(EpropError::CrossEntropy);
    traced.cx.trace(&layer, x).expect("a layer");
    let losses = traced.cx.traced().losses;
    let loss = losses.iter().skip(1).fold(losses[0].clone(), |a, b| a + b);
    let weight = traced
        .cx
        .tracer()
        .find_input("input.weight")
        .expect("a weight");
    let grad = traced.cx.tracer().gradients(&loss, &[&weight]);
    traced.output("grad", &grad[0]);
    near(
        &traced.run(&[])["grad"],
        &expected["gradient of input.weight"],
        1e-12,
    );
}

#[test]
fn buffers_change_by_the_learning_rate_at_the_end_or_in_each_step() {
    let rate = 1e-7;
    let gradients = run(&layer(), Update::Gradient);
    for (update, share) in [(Update::EndOfCall, 1e-7), (Update::EachStep, 1e-4)] {
        let layer = layer().update(update).lr(rate);
        let after = run(&layer, update);
        for ((name, _), before) in NAMES.iter().zip(weights()) {
            let mut before = before.to_f64();
            let expected = &gradients[&format!("gradient of {name}")];
            if *name == "recurrent.weight" {
                // Neurons have no connection to themselves: these weights are not read.
                (0..HIDDEN).for_each(|k| before[k * HIDDEN + k] = after[*name][k * HIDDEN + k]);
            }
            let changes = after[*name].iter().zip(&before);
            let changes: Vec<f64> = changes.map(|(a, b)| (b - a) / rate).collect();
            near(&changes, expected, share);
        }
    }
    let large = |update| run(&layer().update(update).lr(0.1), update);
    assert_ne!(large(Update::EachStep), large(Update::EndOfCall));
    assert_eq!(large(Update::EachStep), large(Update::EachStep));
}

#[test]
fn random_and_adaptive_feedback_change_the_gradients_of_the_layer_only() {
    let symmetric = run(&layer(), Update::Gradient);
    let random = run(&layer().feedback(EpropFeedback::Random), Update::Gradient);
    let adaptive = run(&layer().feedback(EpropFeedback::Adaptive), Update::Gradient);
    for made in [&random, &adaptive] {
        assert_eq!(made["y"], symmetric["y"]);
        for name in ["gradient of readout.weight", "gradient of readout.bias"] {
            assert_eq!(made[name], symmetric[name]);
        }
        assert_ne!(
            made["gradient of input.weight"],
            symmetric["gradient of input.weight"]
        );
    }
    assert_eq!(random.len(), symmetric.len());
    assert_eq!(
        adaptive["gradient of feedback.weight"],
        symmetric["gradient of readout.weight"]
    );
}

#[test]
fn regularization_lowers_rates_that_are_too_high() {
    let regularization = |rate| RateRegularization {
        strength: 1.0,
        rate,
        tau: 10.0,
    };
    let sum = |rate| -> f64 {
        let layer = layer().regularization(regularization(rate));
        run(&layer, Update::Gradient)["gradient of input.weight"]
            .iter()
            .sum()
    };
    // The larger the gradient, the more the weights fall.
    let (low, none, high) = (
        sum(0.0),
        run(&layer(), Update::Gradient)["gradient of input.weight"]
            .iter()
            .sum::<f64>(),
        sum(1.0),
    );
    assert!(high < none && none < low, "{high} {none} {low}");
}

#[test]
fn a_decaying_readout_filters_spikes() {
    let found = run(&layer().readout_decay(0.9), Update::Gradient);
    let plain = run(&layer(), Update::Gradient);
    assert_ne!(found["y"], plain["y"]);
    assert!(found["gradient of input.weight"].iter().any(|x| *x != 0.0));
}

#[test]
fn classes_of_samples_are_the_target_of_all_steps() {
    let gradients = |by_label: bool| {
        let layer = layer().error(EpropError::CrossEntropy);
        let mut traced = Traced::training();
        let (x, _) = given(&mut traced);
        for ((name, _), tensor) in NAMES.iter().zip(weights()) {
            traced.set(name, tensor);
        }
        let label = traced.input("label", Tensor::i64([BATCH], vec![1, 0, 1]));
        match by_label {
            true => traced.cx.give_label(&label),
            false => {
                let target = label.one_hot(OUTPUTS).unsqueeze(0);
                let target = target.expand([STEPS, BATCH, OUTPUTS]);
                traced.cx.give_signal("target", &target);
            }
        }
        traced.cx.trace(&layer, x).expect("a layer");
        let loss = traced.cx.traced().losses.swap_remove(0);
        let weight = traced.cx.tracer().find_input("input.weight");
        let grad = traced
            .cx
            .tracer()
            .gradients(&loss, &[&weight.expect("a weight")]);
        traced.output("gradient", &grad[0]);
        traced.run(&[])["gradient"].clone()
    };
    let found = gradients(true);
    assert!(found.iter().any(|x| *x != 0.0));
    assert_eq!(found, gradients(false));
}

#[test]
fn signals_of_wrong_shapes_are_refused_by_name() {
    let message = |layer: OnlineEprop, signals: &[(&str, &[usize])]| {
        let traced = Traced::training();
        let x = traced
            .cx
            .tracer()
            .input("x", DType::F64, [STEPS, BATCH, INPUTS]);
        for (name, shape) in signals {
            let signal = traced.cx.tracer().input(name, DType::F64, *shape);
            traced.cx.give_signal(name, &signal);
        }
        let refused = traced.cx.trace(&layer, x).expect_err("refused");
        refused.to_string()
    };
    let target: (&str, &[usize]) = ("target", &[STEPS, BATCH, OUTPUTS]);
    let cases = [
        (
            message(layer(), &[]),
            "the signal `target`, which was not given",
        ),
        (
            message(layer(), &[("target", &[STEPS, BATCH])]),
            "[25, 3, 2]",
        ),
        (
            message(layer(), &[target, ("error_weight", &[BATCH])]),
            "error_weight",
        ),
        (
            message(layer().readout_decay(1.0), &[target]),
            "readout_decay",
        ),
        (
            message(OnlineEprop::new([INPUTS + 1, 7, 2], neuron()), &[target]),
            "7",
        ),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_steps() {
    let bytes = |steps: usize| {
        let mut traced = Traced::training();
        let x = traced.input("x", spikes(&[steps, BATCH, INPUTS], 0.4, 1));
        let target = traced.input("target", numbers(&[steps, BATCH, OUTPUTS], 2));
        traced.cx.give_signal("target", &target);
        let layer = layer().update(Update::EachStep);
        traced.cx.trace(&layer, x).expect("a layer");
        let (_store, program) = traced.compile();
        program.plan().arena_bytes
    };
    assert_eq!(bytes(20), bytes(200));
}
