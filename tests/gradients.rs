//! Derived gradients against central differences in f64, with the primitive as the forward pass:
//! every neuron × reset × surrogate that has a primitive. And operations that read a value twice.

use crate::probe;

use probe::Probe;
use spikelet::device;
use spikelet::graph::op::{Conv, Recurrence};
use spikelet::layer::spiking;
use spikelet::module::{TracedState, TracedTensor};
use spikelet::neuron::{self, FireOn};
use spikelet::prelude::*;
use spikelet::runtime::host;
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

/// A neuron in f64 with L = Σ spike_seq·grad_spike_seq + Σ v_seq·grad_v_seq and its gradients,
/// compiled once; L is taken at many places.
struct Smooth {
    program: Program,
    store: VarStore,
    /// Values by name: the input, initial states, what is learned.
    at: BTreeMap<String, Tensor>,
}

impl Smooth {
    fn new(neuron: &dyn Neuron, steps: usize) -> Result<Self> {
        const SALT: u64 = 11;
        let cx = Context::new(Mode::STREAM, DType::F64);
        let t = cx.tracer();
        let shape = [steps, NEURONS];
        let input = |name| t.input(name, DType::F64, shape);
        let x = input("x_seq");
        let made = spiking(neuron, &cx, &x)?;
        let mut loss = (made.out.clone() * input("grad_spike_seq")).sum_all();
        if let Some(v_seq) = made.state_seq("v") {
            loss = loss + (v_seq * input("grad_v_seq")).sum_all();
        }
        let traced = cx.traced();
        let sequence = |salt| Tensor::f64(shape, values(steps * NEURONS, salt));
        let mut at = BTreeMap::from([("x_seq".to_string(), sequence(SALT))]);
        for TracedState { name, shape, .. } in &traced.states {
            let start = Tensor::f64(shape.clone(), values(NEURONS, SALT + 3));
            at.insert(name.clone(), start);
        }
        for TracedTensor {
            name, shape, init, ..
        } in &traced.parameters
        {
            let values = init.values(name, 1, shape.iter().product());
            let moved: Vec<f64> = values.iter().map(|v| f64::from(*v) + 0.3).collect();
            at.insert(name.clone(), Tensor::f64(shape.clone(), moved));
        }
        let wrt: Vec<Var> = at.keys().filter_map(|name| t.find_input(name)).collect();
        let grads = t.gradients(&loss, &wrt.iter().collect::<Vec<_>>());
        t.output("loss", &loss);
        for (name, grad) in at.keys().zip(&grads) {
            t.output(&format!("grad {name}"), grad);
        }
        let mut store = VarStore::new(device::cpu()?);
        store.initialize(&traced, DType::F64, 1)?;
        let program = Program::new(t.finish()?, &mut store)?;
        for (name, salt) in [("grad_spike_seq", SALT + 1), ("grad_v_seq", SALT + 2)] {
            if program.has_input(name) {
                program.set(name, host(&sequence(salt)))?;
            }
        }
        Ok(Self { program, store, at })
    }

    /// L, where element `k` of the value `moved` is moved by `step`.
    fn loss(&mut self, moved: &str, k: usize, step: f64) -> Result<f64> {
        for (name, tensor) in &self.at {
            let mut values = tensor.to_f64();
            if name == moved {
                values[k] += step;
            }
            let tensor = Tensor::f64(tensor.shape.clone(), values);
            match self.program.has_input(name) {
                true => self.program.set(name, host(&tensor))?,
                false => self.store.set(name, &tensor)?,
            }
        }
        self.program.run()?;
        self.program.scalar("loss")
    }

    /// The difference quotient, or `None` where the slopes on both sides differ: at a kink.
    fn difference(&mut self, name: &str, k: usize) -> Result<Option<f64>> {
        let mut at = |step| self.loss(name, k, step);
        let (up, here, down) = (at(H)?, at(0.0)?, at(-H)?);
        let (right, left) = ((up - here) / H, (here - down) / H);
        let smooth = (right - left).abs() < 1e-3 * (1.0 + right.abs());
        Ok(smooth.then_some((up - down) / (2.0 * H)))
    }
}

/// Whether the neuron lets no gradient through from a step to the one before it, on purpose.
fn cuts_time(neuron: &dyn Neuron) -> bool {
    let step = neuron::derive(neuron).expect("a sound neuron");
    let of_states = &step.step_gradients()[step.inputs.len()..][..step.states.len()];
    !of_states.is_empty() && of_states.iter().all(|g| g.as_constant() == Some(0.0))
}

fn check(neuron: &dyn Neuron, what: &str, failures: &mut Vec<String>) -> Result<usize> {
    // Of a single step the gradient of what cuts time is that of its input.
    let cut = cuts_time(neuron);
    let mut smooth = Smooth::new(neuron, if cut { 1 } else { STEPS })?;
    smooth.loss("", 0, 0.0)?;
    let is_state = |name: &String| neuron.states().iter().any(|s| s.name == *name);
    let mut derived = vec![];
    for name in smooth.at.keys().filter(|name| !(cut && is_state(name))) {
        derived.push((name.clone(), smooth.program.get(&format!("grad {name}"))?));
    }
    let mut checked = 0;
    for (name, gradient) in derived {
        for (k, derived) in gradient.to_f64().into_iter().enumerate() {
            let Some(expected) = smooth.difference(&name, k)? else {
                continue;
            };
            checked += 1;
            // The primitive of s2nn is itself wrong by 1e-5.
            if (derived - expected).abs() > 2e-5 * (1.0 + expected.abs()) {
                failures.push(format!(
                    "{what}: grad {name}[{k}] is {derived}, differences say {expected}"
                ));
            }
        }
    }
    Ok(checked)
}

#[test]
fn every_neuron_reset_and_surrogate_has_the_gradient_that_differences_show() -> Result<()> {
    let mut failures = vec![];
    let mut checked = 0;
    for name in neuron::NEURONS.names() {
        for surrogate in surrogate::SURROGATES.names() {
            for v_reset in [serde_json::json!(-0.2), serde_json::json!(null)] {
                let spec = serde_json::json!({
                    "neuron": name,
                    "params": {"v_reset": v_reset, "spiking": false, "v_threshold": 0.8},
                    "surrogate": surrogate, "reset_grad": "surrogate",
                });
                let neuron = neuron::from_spec(&spec).expect("known");
                let smooth = neuron.common().surrogate.primitive(&Expr::symbol("x"));
                if smooth.is_some() {
                    let what = format!("{name} × {surrogate} × v_reset {v_reset}");
                    checked += check(&*neuron, &what, &mut failures)?;
                }
            }
        }
    }
    for name in neuron::NEURONS.names() {
        for params in [
            serde_json::json!({"fire_on": "previous"}),
            serde_json::json!({"fire_on": "previous", "v_reset": null}),
            serde_json::json!({"resets": false, "strict": true}),
        ] {
            let what = format!("{name} × {params}");
            let mut constants = params;
            constants["spiking"] = false.into();
            let spec = serde_json::json!({
                "neuron": name, "params": constants, "reset_grad": "surrogate",
                "surrogate": {"name": "sigmoid", "alpha": 2.0, "factor": 0.75},
            });
            let neuron = neuron::from_spec(&spec).expect("known");
            let has_potential = neuron.states().iter().any(|state| state.name == "v");
            // A potential without a gradient through time has one through such a spike.
            let plain = neuron::from_spec(&serde_json::json!({"neuron": name}));
            let fits = has_potential && !cuts_time(&*plain.expect("known"));
            if fits || neuron.common().fire_on == FireOn::Charged {
                checked += check(&*neuron, &what, &mut failures)?;
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {checked} failed:\n{}",
        failures.len(),
        failures[..failures.len().min(30)].join("\n")
    );
    assert!(checked > 10_000, "{checked} gradients were checked");
    Ok(())
}

type TimeDistributed = fn(&Var) -> Var;

/// A function of one tensor.
struct Of(TimeDistributed);

impl Module for Of {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok((self.0)(x))
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
    let reads: [(&str, Vec<usize>, TimeDistributed); 7] = [
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
    }
    Ok(())
}
