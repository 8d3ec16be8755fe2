//! Norse's LIFRecurrentCell.

use super::Spec;
use super::program::Trace;
use serde::Deserialize;
use spikelet::layer::LifRecurrent;
use spikelet::neuron::NorseLif;
use spikelet::prelude::*;
use spikelet::surrogate::FastSigmoid;
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    dt: f64,
    tau_syn_inv: f64,
    tau_mem_inv: f64,
    v_leak: f64,
    v_th: f64,
    v_reset: f64,
    alpha: f64,
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    if spec.neuron != "LIFRecurrentCell" {
        return Err(spec.unknown_neuron("LIFRecurrentCell"));
    }
    let constants: Constants = spec.constants()?;
    let [features, inputs] = trace.matrix("param.input_weights")?;
    let x = trace.sequence(features)?;
    let layer = LifRecurrent::new(inputs, features).neuron(|cell| NorseLif {
        dt: constants.dt,
        tau_mem_inv: constants.tau_mem_inv,
        tau_syn_inv: constants.tau_syn_inv,
        v_leak: constants.v_leak,
        common: Common {
            v_threshold: constants.v_th,
            v_reset: Some(constants.v_reset),
            surrogate: Arc::new(FastSigmoid {
                slope: constants.alpha,
            }),
            ..cell.common
        },
    });
    let s = trace.layer("layer", &layer, x)?;
    let parameters = [
        ("linear.weight", "input_weights"),
        ("feedback.weight", "recurrent_weights"),
    ];
    trace.bind_all("layer", "param", "", &parameters);
    let states = [("neuron.v", "v"), ("neuron.i", "i"), ("spikes", "z")];
    trace.bind_all("layer", "init", "", &states);
    let states = [("v", "neuron.v_seq"), ("i", "neuron.i_seq")];
    trace.outputs_of("layer", "", &states)?;
    trace.output("s", &s);
    let v = trace.recorded("layer.neuron.v_seq")?;
    trace.weighted_loss(&[("s", &s), ("v", &v)])
}
