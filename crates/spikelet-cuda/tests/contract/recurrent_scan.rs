//! Neuron scans with feedback, forward and backward.
//!
//! Weights are multiples of 1/1024, so that a sum of them is exact in any order and the spikes are those of
//! the CPU.

use crate::harness::{Near, SUMS, data, gpu, same_on, scaled, thorough};
use spikelet_expr::Expr;
use spikelet_graph::op::{Feedback, Port, Ports, Recurrence, Scan};
use spikelet_graph::{Backend, DType, Tensor, Tracer, Var};
use std::sync::Arc;

/// Leaky integrate-and-fire with a hard reset; the spikes of the step before are a state.
fn lif() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + (x - &v) / 2.0;
    let u = &h - 1.0;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    let step = Recurrence::new("lif", ["x"], ["v", "z"]);
    Arc::new(step.output("s", s.clone(), true).next(vec![next, s]))
}

/// Adaptive, with a late reset, which reads the spikes of the step before, and four parameters.
fn adaptive() -> Arc<Recurrence> {
    let [x, u, z, w] = ["x", "u", "z", "w"].map(Expr::symbol);
    let [alpha, beta, a, b] = ["alpha", "beta", "a", "b"].map(Expr::symbol);
    let next_w = beta * &w + a * &u + b * &z;
    let next_u = &alpha * (&u - &z) + (1.0 - &alpha) * (x - &next_w);
    let h = &next_u - 1.0;
    let s = Expr::custom_gradient(h.ge(0.0), h.atan());
    let step = Recurrence::new("adaptive", ["x"], ["u", "z", "w"])
        .params(["alpha", "beta", "a", "b"])
        .output("s", s.clone(), true)
        .output("potential", next_u.clone(), false);
    Arc::new(step.next(vec![next_u, s, next_w]))
}

struct Case {
    recurrence: Arc<Recurrence>,
    time: usize,
    operands: Vec<(String, Tensor)>,
}

impl Case {
    fn new(recurrence: Arc<Recurrence>, [time, batch, features]: [usize; 3]) -> Self {
        let r = &*recurrence;
        let mut operands = vec![(
            "x".to_string(),
            scaled(&[time, batch, features], 1, 2.0, 1.0),
        )];
        for (k, name) in r.states.iter().enumerate() {
            let state = scaled(&[batch, features], 20 + k as u64, 0.5, 0.2);
            operands.push((name.clone(), state));
        }
        for (k, name) in r.params.iter().enumerate() {
            let param = scaled(&[features], 30 + k as u64, 0.2, 0.6);
            operands.push((name.clone(), param));
        }
        let scale = 1.0 / (features as f32).sqrt();
        let weight = scaled(&[features, features], 40, scale, 0.0).to_f64();
        let weight: Vec<f64> = weight
            .iter()
            .map(|w| (w * 1024.0).round() / 1024.0)
            .collect();
        let weight = Tensor::f64([features, features], weight).cast(DType::F32);
        operands.push(("weight".to_string(), weight));
        operands.push((
            "grad".to_string(),
            scaled(&[time, batch, features], 50, 1.0, 0.1),
        ));
        operands.push((
            "grad last".to_string(),
            scaled(&[batch, features], 51, 1.0, 0.0),
        ));
        Self {
            recurrence,
            time,
            operands,
        }
    }

    fn trace(&self, tracer: &Tracer) {
        let operands: Vec<(&str, Var)> = (self.operands.iter())
            .map(|(name, t)| (name.as_str(), data(tracer, name, t)))
            .collect();
        let of = |name: &str| {
            &operands
                .iter()
                .find(|(n, _)| *n == name)
                .expect("an operand")
                .1
        };
        let r = &self.recurrence;
        let list = |names: &[String]| names.iter().map(|name| of(name)).collect::<Vec<_>>();
        let op = Scan::new(r.clone(), self.time).feed_back(Feedback::of(1));
        let (outputs, driven) = (r.outputs.len(), op.writes(Port::Driven));
        let made = Var::recurrent_scan(
            op,
            &[of("x")],
            &list(&r.states),
            &list(&r.params),
            of("weight"),
        );
        let last_output = &made[outputs - 1];
        let pairs = [
            (&made[0], of("grad")),
            (last_output, of("grad")),
            (&made[outputs], of("grad last")),
            (&made[outputs + r.states.len()], of("grad")),
        ];
        let wrt: Vec<&(&str, Var)> = operands
            .iter()
            .filter(|(n, _)| !n.starts_with("grad"))
            .collect();
        let vars: Vec<&Var> = wrt.iter().map(|(_, var)| var).collect();
        let grads = tracer.gradients_given(&pairs, &vars);
        for ((name, _), grad) in wrt.iter().zip(&grads) {
            tracer.output(&format!("d{name}"), grad);
        }
        for (k, value) in made.iter().enumerate() {
            if k != driven {
                tracer.output(&format!("result {k}"), value);
            }
        }
    }

    /// The scan in two parts, of which the second continues the first.
    fn trace_parts(&self, tracer: &Tracer) {
        let operands: Vec<(&str, Var)> = (self.operands.iter())
            .map(|(name, t)| (name.as_str(), data(tracer, name, t)))
            .collect();
        let of = |name: &str| {
            let found = operands.iter().find(|(n, _)| *n == name);
            &found.expect("an operand").1
        };
        let r = &self.recurrence;
        let params: Vec<&Var> = r.params.iter().map(|name| of(name)).collect();
        let mut states: Vec<Var> = r.states.iter().map(|name| of(name).clone()).collect();
        let mut pairs = vec![];
        let (outputs, middle) = (r.outputs.len(), self.time.div_ceil(2));
        for (part, steps) in [0..middle, middle..self.time].into_iter().enumerate() {
            let op = Scan::new(r.clone(), steps.len()).feed_back(Feedback {
                continues: part > 0,
                ..Feedback::of(1)
            });
            let [before, driven] = [Port::Before, Port::Driven].map(|port| op.writes(port));
            let [x, grad] = ["x", "grad"].map(|name| of(name).slice(0, steps.clone()));
            let states_before: Vec<&Var> = states.iter().collect();
            let made = Var::recurrent_scan(op, &[&x], &states_before, &params, of("weight"));
            states = made[outputs..][..r.states.len()].to_vec();
            for k in [0, outputs - 1, outputs + r.states.len()] {
                pairs.push((made[k].clone(), grad.clone()));
            }
            for (k, value) in made.iter().enumerate().filter(|(k, _)| *k != driven) {
                let name = if k == before { "before" } else { "result" };
                tracer.output(&format!("{name} {k} of {part}"), value);
            }
        }
        pairs.push((states[0].clone(), of("grad last").clone()));
        let pairs: Vec<(&Var, &Var)> = pairs.iter().map(|(y, g)| (y, g)).collect();
        let wrt: Vec<&(&str, Var)> = operands
            .iter()
            .filter(|(n, _)| !n.starts_with("grad"))
            .collect();
        let vars: Vec<&Var> = wrt.iter().map(|(_, var)| var).collect();
        for ((name, _), grad) in wrt.iter().zip(tracer.gradients_given(&pairs, &vars)) {
            tracer.output(&format!("d{name}"), &grad);
        }
    }

    fn check_parts(&self, gpu: &dyn Backend) {
        let inputs: Vec<(&str, Tensor)> = (self.operands.iter())
            .map(|(name, t)| (name.as_str(), t.clone()))
            .collect();
        let near = |name: &str| match name {
            "result 0 of 0" | "result 0 of 1" => Near::Bits,
            name if name.starts_with("before") => Near::Bits,
            _ => SUMS,
        };
        same_on(gpu, &inputs, near, |tracer| self.trace_parts(tracer));
    }

    fn check(&self, gpu: &dyn Backend) {
        let inputs: Vec<(&str, Tensor)> = (self.operands.iter())
            .map(|(name, t)| (name.as_str(), t.clone()))
            .collect();
        // The product of the initial state, which is no spike, is a sum of other terms.
        let near = |name: &str| match name {
            "result 0" => Near::Bits,
            _ => SUMS,
        };
        same_on(gpu, &inputs, near, |tracer| self.trace(tracer));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_size_of_a_recurrent_layer_has_the_spikes_and_gradients_of_the_cpu() {
    let gpu = gpu();
    let sizes = [
        [1, 3, 8],
        [2, 1, 5],
        [9, 40, 64],
        [20, 7, 100],
        [12, 9, 256],
        [30, 70, 512],
        [5, 33, 600],
        [4, 17, 1024],
        [3, 9, 2048],
    ];
    for size in sizes {
        if thorough() || size[2] <= 100 {
            Case::new(lif(), size).check(&gpu);
            Case::new(adaptive(), size).check(&gpu);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_scan_that_continues_another_has_the_spikes_and_gradients_of_the_cpu() {
    let gpu = gpu();
    for size in [
        [2, 1, 5],
        [9, 40, 64],
        [20, 7, 100],
        [12, 9, 256],
        [30, 70, 512],
    ] {
        if thorough() || size[2] <= 256 {
            Case::new(lif(), size).check_parts(&gpu);
            Case::new(adaptive(), size).check_parts(&gpu);
        }
    }
}
