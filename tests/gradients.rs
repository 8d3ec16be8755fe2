//! Derived gradients against central differences in f64, with the primitive as the forward pass:
//! every neuron × reset × surrogate that has a primitive. And operations that read a value twice.

#[path = "layers/probe.rs"]
mod probe;

use probe::Probe;
use spikelet::device;
use spikelet::graph::op::{Conv, Recurrence};
use spikelet::layer::spiking;
use spikelet::neuron::{self, Inputs, Neuron, run};
use spikelet::prelude::{Context, DType, Expr, Init, Mode, Module, Result, Tensor, Var};
use spikelet::surrogate;
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: usize = 4;
const NEURONS: usize = 3;
const H: f64 = 1e-6;

fn values(count: usize, salt: u64) -> Vec<f64> {
    let mut state = salt;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| 1.9 * next() - 0.4).collect()
}

/// Names, shapes and starts of what a neuron learns.
fn parameters(neuron: &dyn Neuron, steps: usize) -> Vec<(String, Vec<usize>, Init)> {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let x = cx.tracer().input("x_seq", DType::F64, [steps, NEURONS]);
    spiking(neuron, &cx, x).expect("a sound neuron");
    cx.traced().parameters
}

fn inputs(neuron: &dyn Neuron, steps: usize, salt: u64) -> Inputs {
    let sequence = |salt| Some(Tensor::f64([steps, NEURONS], values(steps * NEURONS, salt)));
    let mut states = BTreeMap::new();
    for state in neuron.states() {
        states.insert(
            state.name.to_string(),
            Tensor::f64([NEURONS], values(NEURONS, salt + 3)),
        );
    }
    let mut params = BTreeMap::new();
    for (name, shape, init) in parameters(neuron, steps) {
        let values = init.values(&name, 1, shape.iter().product());
        let moved: Vec<f64> = values.iter().map(|v| f64::from(*v) + 0.3).collect();
        params.insert(name, Tensor::f64(shape, moved));
    }
    Inputs {
        x_seq: sequence(salt),
        grad_spike_seq: sequence(salt + 1),
        grad_v_seq: sequence(salt + 2).filter(|_| states.contains_key("v")),
        states,
        params,
        ..Inputs::default()
    }
}

/// L = Σ spike_seq·grad_spike_seq + Σ v_seq·grad_v_seq
fn loss(neuron: &dyn Neuron, inputs: &Inputs) -> f64 {
    let made = run(neuron, inputs, device::cpu().expect("the CPU")).expect("runs");
    let weighted = |value: &str, weight: &Option<Tensor>| -> f64 {
        let Some(weight) = weight else { return 0.0 };
        let pairs = made[value].to_f64().into_iter().zip(weight.to_f64());
        pairs.map(|(a, b)| a * b).sum()
    };
    weighted("spike_seq", &inputs.grad_spike_seq) + weighted("v_seq", &inputs.grad_v_seq)
}

/// The difference quotient, or `None` where the slopes on both sides differ: at a kink.
fn difference(neuron: &dyn Neuron, at: &dyn Fn(f64) -> Inputs) -> Option<f64> {
    let [up, here, down] = [H, 0.0, -H].map(|step| loss(neuron, &at(step)));
    let (right, left) = ((up - here) / H, (here - down) / H);
    let smooth = (right - left).abs() < 1e-3 * (1.0 + right.abs());
    smooth.then_some((up - down) / (2.0 * H))
}

fn moved(tensor: &Tensor, k: usize, step: f64) -> Tensor {
    let mut values = tensor.to_f64();
    values[k] += step;
    Tensor::f64(tensor.shape.clone(), values)
}

/// Whether the neuron lets no gradient through from a step to the one before it, on purpose.
fn cuts_time(neuron: &dyn Neuron) -> bool {
    let step = neuron::derive(neuron).expect("a sound neuron");
    let of_states = &step.step_gradients()[step.inputs.len()..][..step.states.len()];
    !of_states.is_empty() && of_states.iter().all(|g| g.as_constant() == Some(0.0))
}

fn check(neuron: &dyn Neuron, what: &str, failures: &mut Vec<String>) -> usize {
    // Of a single step the gradient of what cuts time is that of its input.
    let cut = cuts_time(neuron);
    let given = inputs(neuron, if cut { 1 } else { STEPS }, 11);
    let made = run(neuron, &given, device::cpu().expect("the CPU")).expect("runs");
    let mut checked = 0;
    let mut compare = |name: &str, tensor: &Tensor, place: &dyn Fn(&mut Inputs, Tensor)| {
        for k in 0..tensor.len() {
            let at = |step: f64| {
                let mut inputs = given.clone();
                place(&mut inputs, moved(tensor, k, step));
                inputs
            };
            let Some(expected) = difference(neuron, &at) else {
                continue;
            };
            let derived = made[name].to_f64()[k];
            checked += 1;
            // The primitive of s2nn is itself wrong by 1e-5.
            if (derived - expected).abs() > 2e-5 * (1.0 + expected.abs()) {
                failures.push(format!(
                    "{what}: {name}[{k}] is {derived}, differences say {expected}"
                ));
            }
        }
    };
    let x = given.x_seq.clone().expect("given");
    compare("grad_x_seq", &x, &|inputs, x| inputs.x_seq = Some(x));
    for (name, tensor) in given.states.iter().filter(|_| !cut) {
        compare(&format!("grad_{name}_init"), tensor, &|inputs, v| {
            inputs.states.insert(name.clone(), v);
        });
    }
    for (name, tensor) in &given.params {
        compare(&format!("grad_{name}"), tensor, &|inputs, w| {
            inputs.params.insert(name.clone(), w);
        });
    }
    checked
}

#[test]
fn every_neuron_reset_and_surrogate_has_the_gradient_that_differences_show() {
    let mut failures = vec![];
    let mut checked = 0;
    for entry in neuron::entries() {
        for surrogate in surrogate::entries() {
            for v_reset in [serde_json::json!(-0.2), serde_json::json!(null)] {
                let spec = serde_json::json!({
                    "neuron": entry.name,
                    "params": {"v_reset": v_reset, "spiking": false, "v_threshold": 0.8},
                    "surrogate": surrogate.name, "reset_grad": "surrogate",
                });
                let neuron = neuron::from_spec(&spec).expect("known");
                let smooth = neuron.common().surrogate.primitive(&Expr::symbol("x"));
                if smooth.is_some() {
                    let what = format!("{} × {} × v_reset {v_reset}", entry.name, surrogate.name);
                    checked += check(&*neuron, &what, &mut failures);
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {checked} failed:\n{}",
        failures.len(),
        failures[..failures.len().min(30)].join("\n")
    );
    assert!(checked > 1000, "{checked} gradients were checked");
}

type Function = fn(&Var) -> Var;

/// A function of one tensor.
struct Of(Function);

impl Module for Of {
    fn forward(&self, _: &Context, x: Var) -> Result<Var> {
        Ok((self.0)(&x))
    }
}

/// v ← v·a + b of a sequence that it reads as a and as b.
fn scanned(x: &Var) -> Var {
    let [a, b, v] = ["a", "b", "v"].map(Expr::symbol);
    let h = v * a + b;
    let step = Recurrence::new("twice", ["a", "b"], ["v"]).output("y", h.tanh(), false);
    let zero = x.tracer().fill(x.ty().dtype, [], 0.5);
    let step = Arc::new(step.next(vec![h]));
    Var::scan(&step, x.dim(0), &[x, x], &[&zero], &[]).swap_remove(0)
}

#[test]
fn a_value_that_an_operation_reads_twice_has_both_gradients() -> Result<()> {
    let reads: [(&str, Vec<usize>, Function); 7] = [
        ("product", vec![3, 4], |x| x * x),
        ("sum", vec![3, 4], |x| x + x),
        ("map", vec![3, 4], |x| {
            Var::map(&[x, x], |v| &v[0] * v[1].exp())
        }),
        ("join", vec![3, 4], |x| Var::concat(&[x, x, x], 1)),
        ("matrices", vec![3, 3], |x| x.linear(x)),
        ("convolution", vec![2, 3, 2], |x| {
            x.conv(
                x,
                Conv {
                    padding: vec![1],
                    ..Conv::new(1)
                },
            )
        }),
        ("neuron", vec![4, 3], scanned),
    ];
    for (what, shape, of) in reads {
        let mut probe = Probe::new(&Of(of), Mode::TRAIN, &shape)?;
        probe.check_gradients(what)?;
        assert!(probe.buffers.is_empty() && !probe.shape.is_empty());
    }
    Ok(())
}
