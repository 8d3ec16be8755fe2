//! The short lines, put together again, are the engine's step.

use super::probe::{derivative_of, primitive_of};
use super::{Step, adjoint};
use spikelet::expr::{Expr, Program};
use spikelet::graph::op::Recurrence;
use spikelet::neuron::{self, Neuron, derive};
use spikelet::surrogate;
use std::sync::Arc;

/// Values of `exprs` in f64 at a few places, each with its own values for all symbols.
fn values(exprs: &[Expr], symbols: &[String]) -> Vec<f64> {
    const PLACES: usize = 7;
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let program = Program::compile(exprs, &[], &names).expect("all symbols are named");
    let at = |k: usize, i: usize| ((k * 7 + i * 5 + 3) % 11) as f64 / 4.0 - 0.9;
    let inputs: Vec<Vec<f64>> = (0..names.len())
        .map(|k| (0..PLACES).map(|i| at(k, i)).collect())
        .collect();
    let mut outputs = vec![vec![0.0; PLACES]; exprs.len()];
    program.step(
        &mut program.workspace::<f64>(PLACES),
        &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        &mut outputs
            .iter_mut()
            .map(Vec::as_mut_slice)
            .collect::<Vec<_>>(),
    );
    outputs.concat()
}

/// Outputs, next states and gradients of the engine's own step.
fn engine(step: &Recurrence) -> Vec<Expr> {
    let outputs = (step.outputs.iter().map(|o| o.value.clone())).chain(step.next.iter().cloned());
    let names = [&step.inputs, &step.states, &step.params]
        .into_iter()
        .flatten();
    let gradients = names.zip(step.step_gradients());
    let wanted = gradients.filter(|(name, _)| *name != "noise");
    outputs
        .chain(wanted.map(|(_, gradient)| gradient))
        .collect()
}

/// The same from the lines of a [`Step`].
fn lines(neuron: &dyn Neuron, step: &Step, derived: &Recurrence) -> Vec<Expr> {
    let surrogate = &neuron.common().surrogate;
    // The value of a surrogate's symbol; its argument is written with H.
    let asked = |name: &str, known: &dyn Fn(&str) -> Option<Expr>| -> Option<Expr> {
        step.arguments.iter().find_map(|argument| {
            let x = argument.substitute(known);
            if name == derivative_of(argument) {
                Some(surrogate.derivative(&x))
            } else if name == primitive_of(argument) {
                surrogate.primitive(&x)
            } else {
                None
            }
        })
    };
    let charge = step.charge.substitute(&|name| asked(name, &|_| None));
    let charged = |name: &str| (name == "H").then(|| charge.clone());
    let base = |name: &str| -> Option<Expr> {
        let mut states = derived.states.iter();
        match name {
            "H" => Some(charge.clone()),
            "∂Y" => Some(Expr::symbol("d_s")),
            _ => states
                .find(|s| adjoint(&super::after(s)) == name)
                .map(|s| Expr::symbol(Recurrence::grad_name(s)))
                .or_else(|| asked(name, &charged)),
        }
    };
    let spike = step.fire.substitute(&base);
    let with_spike = |name: &str| match name {
        "S" => Some(spike.clone()),
        _ => base(name),
    };
    let feedback = step.spike_feedback.substitute(&with_spike);
    let d_s = match step.output {
        Some(_) => feedback,
        None => Expr::symbol("d_s") + feedback,
    };
    let with_d_s = |name: &str| match name {
        "∂S" => Some(d_s.clone()),
        _ => with_spike(name),
    };
    let d_h = step.d_h.substitute(&with_d_s);
    let last = |name: &str| match name {
        "∂H" => Some(d_h.clone()),
        _ => with_d_s(name),
    };
    let out = (step.output.as_ref()).map_or(spike.clone(), |output| output.substitute(&with_spike));
    let next = step.next.iter().map(|(_, e)| e.substitute(&with_spike));
    let gradients = step.gradients.iter().map(|(_, e)| e.substitute(&last));
    std::iter::once(out).chain(next).chain(gradients).collect()
}

fn check(neuron: &Arc<dyn Neuron>) {
    let derived = derive(&**neuron).expect("a sound neuron");
    let step = Step::of(&**neuron).expect("a sound neuron");
    let adjoints = derived.states.iter().map(|s| Recurrence::grad_name(s));
    let symbols: Vec<String> = [&derived.inputs, &derived.states, &derived.params]
        .into_iter()
        .flatten()
        .cloned()
        .chain(adjoints)
        .chain(["d_s".to_string()])
        .collect();
    let expected = values(&engine(&derived), &symbols);
    let given = values(&lines(&**neuron, &step, &derived), &symbols);
    assert_eq!(expected.len(), given.len());
    for (a, b) in given.iter().zip(&expected) {
        assert!(
            (a - b).abs() <= 1e-12 * b.abs().max(1.0),
            "{neuron:?}: {a} instead of {b}"
        );
    }
}

#[test]
fn the_printed_equations_of_every_neuron_and_surrogate_are_the_engines_step() {
    for name in neuron::NEURONS.names() {
        for surrogate in surrogate::SURROGATES.names() {
            for reset in ["surrogate", "detach", "soft"] {
                for v_reset in [serde_json::json!(0.25), serde_json::Value::Null] {
                    let spec = serde_json::json!({
                        "neuron": name, "surrogate": surrogate, "reset_grad": reset,
                        "params": {"v_reset": v_reset},
                    });
                    let neuron = neuron::from_spec(&spec).expect("known names");
                    if derive(&*neuron).is_ok() {
                        check(&neuron);
                    }
                }
            }
        }
    }
}

#[test]
fn non_spiking_neurons_output_the_primitive() {
    let spec = serde_json::json!({"neuron": "if", "params": {"spiking": false}});
    let neuron = neuron::from_spec(&spec).expect("known names");
    check(&neuron);
    let step = Step::of(&*neuron).expect("a sound neuron");
    assert_eq!(step.fire.to_string(), "g(H - 1)");
}
