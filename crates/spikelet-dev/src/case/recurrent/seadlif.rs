//! SE-adLIF, EF-adLIF and the LIF beside them.

use super::program::Trace;
use super::{Spec, cross_entropy, masked};
use crate::case::{expect, raw, wrong};
use serde::Deserialize;
use spikelet::graph::{Data, Tensor};
use spikelet::layer::{LiReadout, NeuronLayer, NeuronLayerKind, kind};
use spikelet::neuron::SeAdLifCell;
use spikelet::prelude::*;
use spikelet::surrogate::Slayer;
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    thr: f64,
    alpha: f64,
    c: f64,
    q: f64,
    tau_u_range: [f64; 2],
    tau_w_range: [f64; 2],
    #[serde(default)]
    loss_agg: String,
}

impl Constants {
    /// Threshold and surrogate, and time constants between the limits.
    fn common(&self, common: &mut Common) {
        common.v_threshold = self.thr;
        common.surrogate = Arc::new(Slayer {
            alpha: self.alpha,
            c: self.c,
        });
        let ranges = [("tau_u", self.tau_u_range), ("tau_w", self.tau_w_range)];
        for (name, [low, high]) in ranges {
            if let Some(how) = common.trainable.get_mut(name) {
                *how = Trainable::new(Granularity::Neuron).interpolate(low, high);
            }
        }
    }

    fn cell(&self, mut cell: SeAdLifCell) -> SeAdLifCell {
        let middle = |[low, high]: [f64; 2]| 0.5 * (low + high);
        cell.q = self.q;
        cell.tau_u = middle(self.tau_u_range);
        cell.tau_w = middle(self.tau_w_range);
        self.common(&mut cell.common);
        cell
    }
}

/// Traces a layer whose tensors in the case have a prefix.
fn trace_layer<K: NeuronLayerKind>(
    trace: &mut Trace<'_>,
    path: &str,
    prefix: &str,
    x: Var,
    change: impl FnOnce(K::Neuron) -> K::Neuron,
) -> Result<Var> {
    let [features, inputs] = trace.matrix(&format!("param.{prefix}weight"))?;
    let layer = NeuronLayer::<K>::new(inputs, features)
        .bias(trace.has(&format!("param.{prefix}bias")))
        .recurrent(trace.has(&format!("param.{prefix}recurrent")))
        .neuron(change);
    let s = trace.layer(path, &layer, x)?;
    let parameters = [
        ("linear.weight", "weight"),
        ("linear.bias", "bias"),
        ("feedback.weight", "recurrent"),
        ("neuron.tau_u", "tau_u_trainer.weight"),
        ("neuron.tau_w", "tau_w_trainer.weight"),
        ("neuron.a", "a"),
        ("neuron.b", "b"),
    ];
    trace.bind_all(path, "param", prefix, &parameters);
    let states = [
        ("neuron.v", "u"),
        ("neuron.w", "w"),
        ("neuron.fired", "z"),
        ("spikes", "z"),
    ];
    trace.bind_all(path, "init", prefix, &states);
    trace.outputs_of(
        path,
        prefix,
        &[("h", "neuron.h_seq"), ("u", "neuron.v_seq")],
    )?;
    if let Ok(w) = trace.recorded(&format!("{path}.neuron.w_seq")) {
        trace.output(format!("{prefix}w"), &w);
    }
    trace.output(format!("{prefix}s"), &s);
    Ok(s)
}

fn hidden(
    spec: &Spec,
    constants: &Constants,
    trace: &mut Trace<'_>,
    (path, prefix): (&str, &str),
    x: Var,
) -> Result<Var> {
    match spec.neuron.as_str() {
        "SE-adLIF" => {
            trace_layer::<kind::SeAdLif>(trace, path, prefix, x, |cell| constants.cell(cell))
        }
        "EF-adLIF" => trace_layer::<kind::EfAdLif>(trace, path, prefix, x, |mut cell| {
            cell.neuron = constants.cell(cell.neuron);
            cell
        }),
        "LIF" => trace_layer::<kind::RDecayLif>(trace, path, prefix, x, |mut cell| {
            let [low, high] = constants.tau_u_range;
            cell.tau_u = 0.5 * (low + high);
            constants.common(&mut cell.common);
            cell
        }),
        _ => Err(spec.unknown_neuron("SE-adLIF, EF-adLIF or LIF")),
    }
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let [features, _] = trace.matrix("param.weight")?;
    let x = trace.sequence(features)?;
    let s = hidden(spec, &constants, trace, ("layer", ""), x)?;
    trace.weighted_loss(&[("s", &s)])
}

const OUT: &str = "out_layer";

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let names = (1..).map(|k| format!("l{k}"));
    let layers: Vec<String> = names
        .take_while(|name| trace.has(&format!("param.{name}.weight")))
        .collect();
    let mut widest = 0;
    for name in &layers {
        widest = widest.max(trace.matrix(&format!("param.{name}.weight"))?[0]);
    }
    let mut x = trace.sequence(widest)?;
    let (time_steps, batch) = (x.dim(0), x.dim(1));
    for name in &layers {
        let s = hidden(spec, &constants, trace, (name, &format!("{name}.")), x)?;
        x = masked(trace, name, s)?;
    }
    let [classes, inputs] = trace.matrix(&format!("param.{OUT}.weight"))?;
    // The parameter is the time constant, whether it is trained or not.
    let layer = LiReadout::new(inputs, classes)
        .bias(trace.has(&format!("param.{OUT}.bias")))
        .neuron(|cell| cell.trainable("alpha", Trainable::new(Granularity::Neuron).decay()));
    let y = trace.layer(OUT, &layer, x)?;
    let tau = ["tau_u_trainer.weight@fixed", "tau_u_trainer.weight"];
    let tau = tau
        .into_iter()
        .find(|name| trace.has(&format!("param.{OUT}.{name}")));
    let prefix = format!("{OUT}.");
    let parameters = [
        ("linear.weight", "weight"),
        ("linear.bias", "bias"),
        ("neuron.alpha", tau.unwrap_or("tau_u_trainer.weight@fixed")),
    ];
    trace.bind_all(OUT, "param", &prefix, &parameters);
    trace.bind_all(OUT, "init", &prefix, &[("neuron.v", "u")]);
    trace.output("y", &y);
    let counts = counted(trace, time_steps, batch)?;
    let logits = match constants.loss_agg.as_str() {
        "softmax" => (y.softmax() * &counts).sum(&[0]),
        _ => (y * &counts).sum(&[0]) / counts.sum(&[0]),
    };
    trace.output("logits", &logits);
    let loss = cross_entropy(trace, &logits)?;
    trace.set_loss(&loss);
    Ok(())
}

/// 1 at the steps that count, `[T, N, 1]`.
fn counted(trace: &mut Trace<'_>, time_steps: usize, batch: usize) -> Result<Var> {
    const NAME: &str = "in.block_idx";
    let block = raw(trace.case(), NAME)?;
    expect(NAME, &block.shape, &[batch, time_steps])?;
    let Data::I64(values) = &block.data else {
        return Err(wrong("`in.block_idx` is not I64", "give numbers of blocks"));
    };
    let place = |k: usize| (k % batch) * time_steps + k / batch;
    let counts = (0..values.len()).map(|k| f64::from(u8::from(values[place(k)] == 1)));
    let counts = Tensor::f64([time_steps, batch, 1], counts.collect::<Vec<_>>());
    let counts = counts.cast(trace.dtype());
    Ok(trace.given(NAME, counts))
}
