//! Cases of the kind `eprop`: a recurrent layer of adaptive neurons, a leaky readout, and the gradients by e-prop.

use super::Given;
use super::traced::Traced;
use crate::case::{Results, bounded, wrong};
use serde::Deserialize;
use spikelet::Result;
use spikelet::expr::Expr;
use spikelet::graph::op::Recurrence;
use spikelet::graph::{Tensor, Var};
use spikelet::layer::Feedback;
use spikelet::learning::{
    Eprop, LEARNING_SIGNAL, PlasticSynapses, RuleInputs, RuleResults, run_rule,
};
use spikelet::neuron::{EpropAlif, Granularity, Trainable};
use spikelet::prelude::*;
use spikelet::surrogate::{PiecewiseQuadratic, Scaled};
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    dt: f64,
    tau_m: f64,
    tau_a: f64,
    tau_out: f64,
    thr: f64,
    gamma: f64,
    n_ref: u32,
    loss: LossKind,
    learning_signal: Signal,
    reg: f64,
    reg_rate: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LossKind {
    Squared,
    CrossEntropy,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Signal {
    Symmetric,
    Random,
}

/// The neuron's values over time, `[T, N, hidden]`, with those before each step.
struct Layer {
    spikes: Var,
    /// The spikes of the step before.
    before: Var,
    values: Vec<(String, Var)>,
}

/// Computes the case.
pub fn run(given: &Given<'_>) -> Result<Results> {
    let c: Constants = given.constants()?;
    let kappa = (-c.dt / c.tau_out).exp();
    if !(c.dt > 0.0 && c.tau_out > 0.0) {
        return Err(wrong(
            format!("`dt` is {}, `tau_out` {}", c.dt, c.tau_out),
            "give numbers above 0",
        ));
    }
    let mut traced = Traced::new(given)?;
    let x = traced.input("in.x", "[T, N, inputs]", 3)?;
    let beta = given.input("param.beta")?;
    let &[hidden] = &beta.shape[..] else {
        return Err(wrong(
            "`param.beta` has no single axis",
            "give one value a neuron",
        ));
    };
    let target = traced.input("in.target", "[T, N, outputs]", 3)?;
    let [time_steps, batch, inputs] = [x.dim(0), x.dim(1), x.dim(2)];
    let outputs = target.dim(2);
    bounded(&[time_steps, batch, hidden, hidden.max(inputs)])?;
    let neuron = c.neuron();
    // The weights of the case are [pre, post].
    let matrix = |name: &str, shape: [usize; 2]| -> Result<Tensor> {
        Ok(transposed(&given.input_of(name, &shape)?))
    };
    traced.put("in.weight", matrix("param.w_in", [inputs, hidden])?);
    traced.put("feedback.weight", matrix("param.w_rec", [hidden, hidden])?);
    traced.put("out.weight", matrix("param.w_out", [hidden, outputs])?);
    traced.set("neuron.beta", "param.beta", &[hidden])?;
    let cx = traced.cx.clone();
    let layer = trace_layer(&cx, &neuron, &x, hidden)?;
    let w_out = cx.child("out", |cx| {
        Ok(cx.parameter("weight", [outputs, hidden], Init::Constant(0.0)))
    })?;
    let y = filtered(&cx, "y", &layer.spikes.linear(&w_out), kappa)?;
    let (loss, error) = c.loss.of(&y, &target);
    let signal = match c.learning_signal {
        Signal::Symmetric => error.linear(&w_out.permute(&[1, 0])),
        Signal::Random => {
            let b = given.input_of("param.feedback", &[hidden, outputs])?;
            let b = traced.add_input("param.feedback", b);
            error.linear(&b)
        }
    };
    let rate = layer.spikes.mean(&[0, 1]) / c.dt - c.reg_rate;
    let loss_reg = rate.square().sum_all() * (0.5 * c.reg);
    traced.output("out.z", &layer.spikes);
    traced.output("out.y", &y);
    traced.output("out.learning_signal", &signal);
    traced.output("out.loss", &loss);
    traced.output("out.loss_reg", &loss_reg);
    let (v, b) = (cx.recorded("v_seq")?, cx.recorded("b_seq")?);
    traced.output("out.psi", &c.psi(&cx, &layer, &v, &b)?);
    traced.output("out.v", &v);
    traced.output("out.b", &b);
    let rule = Eprop::of(&neuron)
        .map_err(spikelet::Error::from)?
        .readout_decay(kappa);
    let mut values = layer.values.clone();
    values.push((LEARNING_SIGNAL.to_string(), signal));
    let steps = (time_steps * batch) as f64;
    for (name, pre, inputs) in [("in", &x, inputs), ("rec", &layer.before, hidden)] {
        let shape = [hidden, inputs];
        let made = cx.child(name, |cx| {
            apply(cx, &rule, shape, pre, &layer.spikes, &values)
        })?;
        let mask = match name {
            "rec" => Some(off_diagonal(&mut traced, hidden)),
            _ => None,
        };
        let masked = |v: &Var| mask.as_ref().map_or(v.clone(), |mask| v * mask);
        let recorded = |trace: &str| cx.recorded(&format!("{name}.{trace}"));
        let e = recorded("e")?;
        let penalty = e.sum(&[0, 1]) * (rate.unsqueeze(1) * (c.reg / (steps * c.dt)));
        let grad = masked(&(penalty - &made.change)).permute(&[1, 0]);
        traced.output(&format!("grad.w_{name}"), &grad);
        let eps_v = recorded("eps_v")?.unsqueeze(2);
        let eps_v = eps_v.expand([time_steps, batch, hidden, inputs]);
        let traces = [
            ("eps_v", eps_v),
            ("eps_a", recorded("eps_b")?),
            ("e", e),
            ("e_bar", recorded("e_bar")?),
        ];
        for (trace, value) in traces {
            let value = masked(&value).permute(&[0, 1, 3, 2]);
            traced.output(&format!("out.{trace}_{name}"), &value);
        }
    }
    let filtered = filtered(&cx, "z_bar", &layer.spikes, kappa)?;
    let grad = Linear::new(hidden, outputs)
        .bias(false)
        .products(&filtered, &error);
    traced.output("grad.w_out", &grad.permute(&[1, 0]));
    traced.run()
}

impl Constants {
    fn neuron(&self) -> EpropAlif {
        let mut neuron = EpropAlif {
            tau_m: self.tau_m,
            tau_a: self.tau_a,
            dt: self.dt,
            refractory: self.n_ref,
            ..EpropAlif::default()
        }
        .v_threshold(self.thr)
        .surrogate(Scaled::new(PiecewiseQuadratic::default(), self.gamma));
        let by_neuron = Trainable::new(Granularity::Neuron);
        neuron
            .common
            .trainable
            .insert("beta".to_string(), by_neuron);
        neuron
    }

    /// The pseudo-derivative of the spikes, dz/dv.
    fn psi(&self, cx: &Context, layer: &Layer, v: &Var, b: &Var) -> Result<Var> {
        let of = |name: &str| {
            let found = layer.values.iter().find(|(known, _)| known == name);
            found
                .map(|(_, value)| value.clone())
                .ok_or_else(|| wrong(format!("the neuron has no `{name}`"), "correct the case"))
        };
        let (beta, silent) = (of("beta")?, of("silent")?);
        cx.tracer().check()?;
        Ok(Var::map(&[v, b, &beta, &silent], |x| {
            let above = (&x[0] - self.thr - &x[2] * &x[1]) / self.thr;
            let height = (1.0 - above.abs()).max(0.0) * (self.gamma / self.thr);
            Expr::select(x[3].gt(0.0), 0.0, height)
        }))
    }
}

impl LossKind {
    /// The loss, summed over steps, samples and outputs, and its derivative with respect to the outputs.
    fn of(self, y: &Var, target: &Var) -> (Var, Var) {
        match self {
            Self::Squared => {
                let error = y - target;
                (error.square().sum_all() * 0.5, error)
            }
            Self::CrossEntropy => {
                let loss = (target * y.log_softmax()).sum_all() * -1.0;
                (loss, y.softmax() - target)
            }
        }
    }
}

/// The spikes of the layer, and the values that its neurons' equation reads in each step.
fn trace_layer(cx: &Context, neuron: &EpropAlif, x: &Var, hidden: usize) -> Result<Layer> {
    let synapses = Linear::new(x.dim(2), hidden).bias(false);
    let current = cx.child("in", |cx| synapses.forward(cx, x))?;
    let shape = current.shape()[1..].to_vec();
    let feedback = Feedback::new(hidden).zero_diagonal(true);
    let states = neuron.states();
    let made = cx.step_loop_many(&[current], |steps| {
        let state = |cx: &Context, name: &str| cx.state(name, &shape[..], 0.0);
        let before = state(cx, "spikes").expand(&shape[..]).unsqueeze(0);
        let fed = cx.child("feedback", |cx| feedback.forward(cx, &before))?;
        let x = &steps[0] + &fed;
        let known = cx.child("neuron", |cx| {
            let before = states.iter().map(|s| state(cx, s.name));
            Ok(before
                .map(|s| s.expand(&shape[..]).unsqueeze(0))
                .collect::<Vec<_>>())
        })?;
        let neuron: &dyn Module = neuron;
        let spikes = cx.child("neuron", |cx| neuron.forward(cx, &x))?;
        let after = spikes.cast(cx.tracer().float()).reshape(&shape[..]);
        cx.set_state(&state(cx, "spikes"), &after);
        Ok([vec![spikes, before, x], known].concat())
    })?;
    let beta = cx.child("neuron", |cx| {
        Ok(cx.parameter("beta", [hidden], Init::Constant(0.0)))
    })?;
    let mut values = vec![
        ("x".to_string(), made[2].clone()),
        ("beta".to_string(), beta.expand(made[2].shape())),
    ];
    let names = states.iter().map(|s| s.name.to_string());
    values.extend(names.zip(made[3..].iter().cloned()));
    for name in ["v_seq", "b_seq"] {
        let sequence = cx.recorded(&format!("neuron.{name}"))?;
        cx.record(name, &sequence);
    }
    Ok(Layer {
        spikes: made[0].clone(),
        before: made[1].clone(),
        values,
    })
}

fn apply(
    cx: &Context,
    rule: &Eprop,
    [hidden, inputs]: [usize; 2],
    pre: &Var,
    spikes: &Var,
    values: &[(String, Var)],
) -> Result<RuleResults> {
    let synapses = Linear::new(inputs, hidden).bias(false);
    let weight = cx.tracer().fill(cx.tracer().float(), [hidden, inputs], 0.0);
    let inputs = RuleInputs {
        synapses: &synapses,
        weight: &weight,
        pre,
        post: spikes,
        values,
    };
    run_rule(cx, rule, inputs)
}

/// The exponential filter with the decay κ, whose factors add up to 1.
fn filtered(cx: &Context, name: &str, x: &Var, kappa: f64) -> Result<Var> {
    let next = kappa * Expr::symbol("y") + (1.0 - kappa) * Expr::symbol("x");
    let step = Recurrence::new("filter", ["x"], ["y"]).output("out", next.clone(), false);
    let state = cx.state(name, &x.shape()[1..], 0.0);
    let step = Arc::new(step.next(vec![next]));
    let x = x.cast(cx.tracer().float());
    let made = Var::scan(&step, x.dim(0), &[&x], &[&state], &[]);
    cx.tracer().check()?;
    Ok(made[0].clone())
}

/// 1 everywhere but on the diagonal, as an input of the program.
fn off_diagonal(traced: &mut Traced<'_>, size: usize) -> Var {
    let values = (0..size * size).map(|k| f64::from(u8::from(k / size != k % size)));
    let mask = Tensor::f64([size, size], values.collect::<Vec<_>>());
    let mask = mask.cast(traced.cx.tracer().float());
    traced.add_input("off_diagonal", mask)
}

fn transposed(matrix: &Tensor) -> Tensor {
    let (rows, columns) = (matrix.shape[0], matrix.shape[1]);
    let values = matrix.to_f64();
    let at = (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c));
    let moved: Vec<f64> = at.map(|k| values[k]).collect();
    Tensor::f64([columns, rows], moved).cast(matrix.ty().dtype)
}
