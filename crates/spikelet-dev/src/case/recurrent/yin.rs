//! The adaptive spiking recurrent networks of Yin, Corradi and Bohté.

use super::program::Trace;
use super::{Spec, cross_entropy};
use crate::case::wrong;
use serde::Deserialize;
use spikelet::layer::{LiReadout, RAlif};
use spikelet::prelude::*;
use spikelet::surrogate::MultiGaussian;
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    b_j0: f64,
    beta: f64,
    #[serde(rename = "R_m")]
    r_m: f64,
    dt: f64,
    surrogate: Surrogate,
    skip: usize,
}

#[derive(Deserialize)]
struct Surrogate {
    lens: f64,
    height: f64,
    scale: f64,
    gamma: f64,
}

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    // Layer k is called h1, h2 …; the input i.
    let input_of = |k: usize| match k {
        1 => "i_2_h1".to_string(),
        _ => format!("h{}_2_h{k}", k - 1),
    };
    let weight_of = |k: usize| format!("param.{}.weight", input_of(k));
    let count = (1..).take_while(|k| trace.has(&weight_of(*k))).count();
    let mut widest = 0;
    for k in 1..=count {
        widest = widest.max(trace.matrix(&weight_of(k))?[0]);
    }
    let mut x = trace.sequence(widest)?;
    for k in 1..=count {
        let [features, inputs] = trace.matrix(&weight_of(k))?;
        let layer = RAlif::new(inputs, features).neuron(|mut cell| {
            cell.beta = constants.beta;
            cell.r_m = constants.r_m;
            cell.dt = constants.dt;
            cell.common.v_threshold = constants.b_j0;
            let given = &constants.surrogate;
            cell.common.surrogate = Arc::new(MultiGaussian {
                sigma: given.lens,
                height: given.height,
                scale: given.scale,
                gamma: given.gamma,
            });
            cell
        });
        let path = k.to_string();
        x = trace.layer(&path, &layer, x)?;
        let input = input_of(k);
        let names = [
            ("linear.weight", format!("{input}.weight")),
            ("linear.bias", format!("{input}.bias")),
            ("feedback.weight", format!("h{k}_2_h{k}.weight")),
            ("feedback.bias", format!("h{k}_2_h{k}.bias")),
            ("neuron.tau_m", format!("tau_m_h{k}")),
            ("neuron.tau_adp", format!("tau_adp_h{k}")),
        ];
        let names = names
            .each_ref()
            .map(|(ours, theirs)| (*ours, theirs.as_str()));
        trace.bind_all(&path, "param", "", &names);
        trace.bind_all(&path, "init", "", &[("neuron.v", &format!("mem{k}"))]);
        let states = [("mem", "neuron.v_seq"), ("b", "neuron.a_seq")];
        trace.outputs_of(&path, &format!("{k}."), &states)?;
        trace.output(format!("{k}.s"), &x);
    }
    let [classes, inputs] = trace.matrix("param.h2o.weight")?;
    let layer = LiReadout::new(inputs, classes)
        .neuron(|cell| cell.trainable("alpha", Trainable::new(Granularity::Neuron).decay()));
    let mem = trace.layer("out", &layer, x)?;
    let names = [
        ("linear.weight", "h2o.weight"),
        ("linear.bias", "h2o.bias"),
        ("neuron.alpha", "tau_m_o"),
    ];
    trace.bind_all("out", "param", "", &names);
    trace.bind_all("out", "init", "", &[("neuron.v", "mem_o")]);
    trace.output("mem_o", &mem);
    let time_steps = mem.dim(0);
    if constants.skip >= time_steps {
        return Err(wrong(
            format!("{} of {time_steps} steps are skipped", constants.skip),
            "give a longer sequence",
        ));
    }
    let logits = mem.slice(0, constants.skip..time_steps).softmax().sum(&[0]);
    trace.output("logits", &logits);
    let loss = cross_entropy(trace, &logits)?;
    trace.set_loss(&loss);
    Ok(())
}
