//! What e-prop computes: with the learning signal of the outputs, the gradient of a network whose spikes have no gradient
//! on their way to other neurons; with the complete derivative of the loss with respect to spikes, that of the network.

use crate::learning::common::{Traced, near, numbers, spikes};
use spikelet_core::Result;
use spikelet_graph::{Tensor, Var};
use spikelet_nn::layer::{Feedback, RandomFeedback};
use spikelet_nn::learning::{Eprop, LEARNING_SIGNAL, RuleInputs, run_rule};
use spikelet_nn::module::{Context, Module};
use spikelet_nn::neuron::{Alif, EpropAlif, Neuron};
use spikelet_nn::prelude::*;

const STEPS: usize = 25;
const BATCH: usize = 3;
const INPUTS: usize = 6;
const HIDDEN: usize = 7;
const OUTPUTS: usize = 2;

/// A recurrent layer, with all values that its neurons' equation reads.
struct Recorded {
    spikes: Var,
    /// The spikes of the step before.
    before: Var,
    values: Vec<(String, Var)>,
}

/// Runs the layer on currents. `probe` is added to its spikes on their way to other neurons.
fn layer(cx: &Context, neuron: &dyn Neuron, x: &Var, probe: &Var, local: bool) -> Recorded {
    let states = neuron.states();
    let step = |steps: Vec<Var>| -> Result<Vec<Var>> {
        let shape = [BATCH, HIDDEN];
        let state = |cx: &Context, name: &str| cx.state(name, shape, 0.0);
        let before = state(cx, "spikes").expand(shape).unsqueeze(0);
        let sent = if local {
            before.detach()
        } else {
            before.clone()
        };
        let feedback = Feedback::new(HIDDEN).zero_diagonal(true);
        let fed = cx.child("feedback", |cx| feedback.forward(cx, &sent))?;
        let x = &steps[0] + &fed;
        let known = cx.child("neuron", |cx| {
            let known = states
                .iter()
                .map(|s| state(cx, s.name).expand(shape).unsqueeze(0));
            Ok(known.collect::<Vec<_>>())
        })?;
        let s = cx
            .child("neuron", |cx| spikelet_nn::layer::spiking(neuron, cx, &x))?
            .out;
        let seen = &s + &steps[1];
        cx.set_state(&state(cx, "spikes"), &seen.reshape(shape));
        Ok([vec![seen, before, x], known].concat())
    };
    let made = cx
        .step_loop_many(&[x.clone(), probe.clone()], step)
        .expect("a layer");
    let names = states.iter().map(|s| s.name.to_string());
    let mut values: Vec<(String, Var)> = names.zip(made[3..].iter().cloned()).collect();
    values.push(("x".to_string(), made[2].clone()));
    Recorded {
        spikes: made[0].clone(),
        before: made[1].clone(),
        values,
    }
}

/// The gradients of both weights by automatic differentiation and by e-prop.
fn compare(neuron: &dyn Neuron, local: bool) {
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[STEPS, BATCH, INPUTS], 0.4, 1));
    let target = traced.input("target", numbers(&[STEPS, BATCH, OUTPUTS], 2));
    let probe = traced.input(
        "probe",
        Tensor::f64([STEPS, BATCH, HIDDEN], vec![0.0; STEPS * BATCH * HIDDEN]),
    );
    let scaled = |shape: &[usize], seed, factor: f64| {
        let values = numbers(shape, seed).to_f64();
        Tensor::f64(shape, values.iter().map(|w| w * factor).collect::<Vec<_>>())
    };
    traced.set("in.weight", scaled(&[HIDDEN, INPUTS], 3, 0.8));
    traced.set("feedback.weight", scaled(&[HIDDEN, HIDDEN], 4, 0.5));
    traced.set("out.weight", numbers(&[OUTPUTS, HIDDEN], 5));
    let cx = traced.cx.clone();
    let synapses = Linear::new(INPUTS, HIDDEN).bias(false);
    let current = cx
        .child("in", |cx| synapses.forward(cx, &x))
        .expect("a layer");
    let made = layer(&cx, neuron, &current, &probe, local);
    let readout = Linear::new(HIDDEN, OUTPUTS).bias(false);
    let y = cx
        .child("out", |cx| readout.forward(cx, &made.spikes))
        .expect("a readout");
    let loss = (y - target).square().sum_all() * 0.5;
    let weight = |name: &str| cx.tracer().find_input(name).expect("a weight");
    let (w_in, w_rec) = (weight("in.weight"), weight("feedback.weight"));
    let grads = cx.tracer().gradients(&loss, &[&w_in, &w_rec, &probe]);
    traced.output("bptt_in", &grads[0]);
    traced.output("bptt_rec", &grads[1]);
    let mut values = made.values;
    values.push((LEARNING_SIGNAL.to_string(), grads[2].clone()));
    let rule = Eprop::of(neuron).expect("a rule");
    for (name, pre, inputs) in [("in", &x, INPUTS), ("rec", &made.before, HIDDEN)] {
        let change = cx.child(name, |cx| {
            let inputs = RuleInputs {
                synapses: &Linear::new(inputs, HIDDEN).bias(false),
                weight: &cx.tracer().fill(cx.tracer().float(), [HIDDEN, inputs], 0.0),
                pre,
                post: &made.spikes,
                values: &values,
            };
            run_rule(cx, &rule, inputs)
        });
        traced.output(
            &format!("eprop_{name}"),
            &(change.expect("a rule").change * -1.0),
        );
    }
    let mut found = traced.run(&[]);
    // Neurons have no connection to themselves.
    let own = found.get_mut("eprop_rec").expect("a gradient");
    (0..HIDDEN).for_each(|k| own[k * HIDDEN + k] = 0.0);
    near(&found["eprop_in"], &found["bptt_in"], 1e-13);
    near(&found["eprop_rec"], &found["bptt_rec"], 1e-13);
}

#[test]
fn eprop_is_the_gradient_of_a_network_whose_spikes_have_none_between_neurons() {
    compare(
        &EpropAlif {
            refractory: 2,
            ..EpropAlif::default()
        },
        true,
    );
    compare(
        &EpropAlif {
            beta: 0.0,
            refractory: 0,
            ..EpropAlif::default()
        },
        true,
    );
}

#[test]
fn eprop_with_the_complete_derivative_of_spikes_is_backpropagation_through_time() {
    compare(
        &EpropAlif {
            refractory: 2,
            tau_a: 50.0,
            ..EpropAlif::default()
        },
        false,
    );
}

#[test]
fn the_rule_is_derived_from_the_equation_of_any_neuron() {
    for local in [true, false] {
        compare(&Lif::new(4.0).v_threshold(0.15), local);
        compare(&Lif::new(4.0).v_threshold(0.15).v_reset(None), local);
        compare(&CubaLif::default().v_threshold(0.15), local);
        compare(&Alif::default().v_threshold(0.15), local);
    }
}

#[test]
fn layers_with_a_local_gradient_and_random_feedback_learn_by_eprop() {
    let gradients = |symmetric: bool, local: bool| {
        let mut traced = Traced::training();
        let x = traced.input("x", spikes(&[STEPS, BATCH, INPUTS], 0.4, 1));
        let recurrent = Recurrent::new(Lif::new(4.0).v_threshold(0.15), HIDDEN);
        let recurrent = if local {
            recurrent.local_gradient()
        } else {
            recurrent
        };
        let net = Sequential::new()
            .add(Linear::new(INPUTS, HIDDEN).bias(false))
            .add(recurrent);
        let net = match symmetric {
            true => net.add(Linear::new(HIDDEN, OUTPUTS).bias(false)),
            false => net.add(RandomFeedback::new(HIDDEN, OUTPUTS).adaptive(true)),
        };
        let y = traced.cx.trace(&net, x).expect("a network");
        let loss = y.square().sum_all();
        let names: Vec<String> = traced
            .cx
            .traced()
            .parameters
            .iter()
            .map(|p| p.name.clone())
            .collect();
        let wrt: Vec<Var> = names
            .iter()
            .filter_map(|n| traced.cx.tracer().find_input(n))
            .collect();
        let grads = traced
            .cx
            .tracer()
            .gradients(&loss, &wrt.iter().collect::<Vec<_>>());
        for (name, grad) in names.iter().zip(&grads) {
            traced.output(&format!("grad of {name}"), grad);
        }
        traced.output("y", &y);
        traced.run(&[])
    };
    let (random, full, local) = (
        gradients(false, true),
        gradients(true, false),
        gradients(true, true),
    );
    assert_eq!(random["y"], full["y"]);
    assert_eq!(random["grad of 2.weight"], full["grad of 2.weight"]);
    assert_eq!(random["grad of 2.feedback"], full["grad of 2.weight"]);
    let differ = |a: &[f64], b: &[f64]| a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1e-6);
    assert!(differ(
        &random["grad of 0.weight"],
        &local["grad of 0.weight"]
    ));
    assert!(differ(
        &full["grad of 0.weight"],
        &local["grad of 0.weight"]
    ));
}
