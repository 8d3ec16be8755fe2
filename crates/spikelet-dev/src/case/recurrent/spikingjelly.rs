//! SpikingJelly's LinearRecurrentContainer around a LIFNode.

use super::Spec;
use super::program::{Part, Trace};
use crate::case::wrong;
use serde::Deserialize;
use spikelet::layer::Feedback;
use spikelet::prelude::*;

#[derive(Deserialize)]
struct Constants {
    tau: f64,
    decay_input: bool,
    v_threshold: f64,
    v_reset: Option<f64>,
    detach_reset: bool,
    alpha: f64,
}

const PATH: &str = "layer";

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    if spec.neuron != "LinearRecurrentContainer(LIFNode)" {
        return Err(spec.unknown_neuron("LinearRecurrentContainer(LIFNode)"));
    }
    let c: Constants = spec.constants()?;
    let inputs = trace.shape("in.x")?.last().copied().unwrap_or(0);
    let [features, columns] = trace.matrix("param.rc.weight")?;
    if features != inputs || columns != inputs + features {
        return Err(wrong(
            format!("`param.rc.weight` is [{features}, {columns}] for {inputs} inputs"),
            "give the container's weight [in, in + out]; the neurons are as many as the inputs",
        ));
    }
    let x = trace.sequence(features)?;
    let lif = Lif {
        decay_input: c.decay_input,
        ..Lif::new(c.tau)
    };
    let lif = lif
        .v_threshold(c.v_threshold)
        .v_reset(c.v_reset)
        .detach_reset(c.detach_reset)
        .surrogate(Atan { alpha: c.alpha });
    // The half of the weight that acts on the input is an ordinary layer.
    let bias = trace.has("param.rc.bias");
    let linear = Linear::new(inputs, features).bias(bias);
    let current = trace.module("linear", &linear, x)?;
    let recurrent = Recurrent::through(lif, Feedback::new(features));
    let s = trace.module(PATH, &recurrent, current)?;
    let weight = "param.rc.weight";
    trace.bind("linear.weight", weight, Part::Columns(0..inputs));
    trace.bind("linear.bias", "param.rc.bias", Part::Whole);
    trace.bind(
        format!("{PATH}.feedback.weight"),
        weight,
        Part::Columns(inputs..columns),
    );
    trace.bind_all(PATH, "init", "", &[("neuron.v", "v"), ("spikes", "y")]);
    trace.outputs_of(PATH, "", &[("h", "neuron.h_seq"), ("v", "neuron.v_seq")])?;
    trace.output("s", &s);
    let v = trace.recorded(&format!("{PATH}.neuron.v_seq"))?;
    trace.weighted_loss(&[("s", &s), ("v", &v)])
}
