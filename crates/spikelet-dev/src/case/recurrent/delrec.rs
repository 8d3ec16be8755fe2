//! DelRec: learned delays in recurrent connections.

use super::program::Trace;
use super::{Spec, batch_norm, layer_count, masked, membrane_readout};
use crate::case::{bounded, limited, wrong};
use serde::Deserialize;
use spikelet::layer::DelayedFeedback;
use spikelet::prelude::*;
use spikelet::surrogate::PiecewiseQuadratic;

#[derive(Deserialize)]
struct Constants {
    sigma: f64,
    tau: f64,
    v_threshold: f64,
    v_reset: Option<f64>,
    decay_input: bool,
    detach_reset: bool,
    surrogate: String,
    surrogate_constants: Surrogate,
}

#[derive(Deserialize)]
struct Surrogate {
    #[serde(default = "super::one")]
    alpha: f64,
    #[serde(default = "super::one")]
    gamma: f64,
}

impl Constants {
    fn lif(&self) -> Result<Lif> {
        let lif = Lif {
            decay_input: self.decay_input,
            ..Lif::new(self.tau)
        };
        let lif = lif
            .v_threshold(self.v_threshold)
            .v_reset(self.v_reset)
            .detach_reset(self.detach_reset);
        let Surrogate { alpha, gamma } = self.surrogate_constants;
        match self.surrogate.as_str() {
            "sj_atan" => Ok(lif.surrogate(Atan { alpha })),
            "triangle" => Ok(lif.surrogate(PiecewiseQuadratic { alpha: 1.0 / gamma })),
            other => Err(wrong(
                format!("the surrogate is `{other}`"),
                "use sj_atan or triangle",
            )),
        }
    }
}

/// The mask of the fed back current, if the case has one.
const MASK: &str = "mask.rec";

/// Feedback whose current is multiplied by the mask of the case.
struct Masked(DelayedFeedback);

impl Module for Masked {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let rec = self.0.forward(cx, x)?;
        Ok(match cx.tracer().find_input(MASK) {
            Some(mask) => rec * mask,
            None => rec,
        })
    }
}

/// Traces a neuron with delayed feedback under a path, whose tensors in the case start with `prefix`.
fn recurrent(
    constants: &Constants,
    trace: &mut Trace<'_>,
    path: &str,
    prefix: &str,
    x: Var,
) -> Result<Var> {
    let names = ["recurrent_weights", "recurrent_delays", "p_spread"];
    let [weight, delay, spread] = names.map(|name| format!("param.{prefix}{name}"));
    let [features, _] = trace.matrix(&weight)?;
    let delays = trace.values(&delay)?;
    let longest = delays.iter().fold(0.0_f64, |most, d| most.max(*d));
    let spreads = match trace.has(&spread) {
        true => Some(trace.values(&spread)?),
        false => None,
    };
    let widest = match &spreads {
        None => 1.0 + constants.sigma,
        Some(spreads) => {
            let most = spreads.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            1.0 + 2.0 * constants.sigma / (1.0 + (-most).exp())
        }
    };
    let last = (1.0 + longest + widest).ceil();
    if !(1.0..=4096.0).contains(&last) {
        return Err(wrong(
            format!("the longest lag is {last}"),
            "use delays and widths that give 1 to 4096",
        ));
    }
    let last = last as usize;
    bounded(&[last + 1, x.dim(1), features])?;
    let synaptic = delays.len() != features;
    let rows = if synaptic { features } else { 1 };
    bounded(&[last + 1, rows, features])?;
    let products = [x.dim(0), x.dim(1), rows, last + 1, features];
    limited(&products, crate::case::MOST_PRODUCTS / 4, "products")?;
    if trace.has(MASK) {
        trace.input(MASK)?;
    }
    let feedback = DelayedFeedback::new(features, longest.ceil() as usize)
        .synaptic(synaptic)
        .spread(spreads.is_some())
        .width(constants.sigma)
        .lags(last);
    let layer = Recurrent::through(constants.lif()?, Masked(feedback));
    let s = trace.module(path, &layer, x)?;
    let names = [
        ("feedback.weight", "recurrent_weights"),
        ("feedback.delay", "recurrent_delays"),
        ("feedback.spread", "p_spread"),
    ];
    trace.bind_all(path, "param", prefix, &names);
    if trace.has(&format!("init.{prefix}v")) {
        trace.bind_all(path, "init", prefix, &[("neuron.v", "v")]);
    }
    let sigma = Tensor::f64([], [constants.sigma]).cast(trace.dtype());
    trace.set(format!("{path}.feedback.delay_width"), sigma);
    let names = [
        ("h", "neuron.h_seq"),
        ("v", "neuron.v_seq"),
        ("rec", "feedback.rec_seq"),
    ];
    trace.outputs_of(path, prefix, &names)?;
    let mask = trace.recorded(&format!("{path}.feedback.mask"))?;
    let axes = mask.rank();
    trace.output(format!("{prefix}mask"), &mask.transpose(axes - 2, axes - 1));
    trace.output(format!("{prefix}s"), &s);
    Ok(s)
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    if !matches!(spec.neuron.as_str(), "axonal_recdel" | "synaptic_recdel") {
        return Err(spec.unknown_neuron("axonal_recdel or synaptic_recdel"));
    }
    let constants: Constants = spec.constants()?;
    let [features, _] = trace.matrix("param.recurrent_weights")?;
    let x = trace.sequence(features)?;
    let s = recurrent(&constants, trace, "layer", "", x)?;
    trace.weighted_loss(&[("s", &s)])
}

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let weight = |k: usize| format!("param.{k}.weight");
    let count = layer_count(trace, "weight")?;
    let mut widest = 0;
    for k in 0..count {
        widest = widest.max(trace.matrix(&weight(k))?[0]);
    }
    let mut x = trace.sequence(widest)?;
    for k in 0..count {
        let prefix = format!("{k}.");
        let [features, inputs] = trace.matrix(&weight(k))?;
        let bias = trace.has(&format!("param.{prefix}bias"));
        let linear = Linear::new(inputs, features).bias(bias);
        let path = format!("linear{k}");
        let mut current = trace.module(&path, &linear, x)?;
        trace.bind_all(
            &path,
            "param",
            &prefix,
            &[("weight", "weight"), ("bias", "bias")],
        );
        if trace.has(&format!("param.{prefix}bn.weight")) {
            let prefix = format!("{prefix}bn.");
            current = batch_norm(trace, &format!("norm{k}"), &prefix, current)?;
        }
        let path = format!("neuron{k}");
        if k + 1 == count {
            // A neuron that never fires: its membrane is the output.
            x = trace.module(&path, &constants.lif()?.v_threshold(1e8), current)?;
            continue;
        }
        let s = match trace.has(&format!("param.{prefix}recurrent_weights")) {
            true => recurrent(&constants, trace, &path, &prefix, current)?,
            false => {
                let s = trace.module(&path, &constants.lif()?, current)?;
                trace.outputs_of(&path, &prefix, &[("v", "v_seq"), ("h", "h_seq")])?;
                trace.output(format!("{prefix}s"), &s);
                s
            }
        };
        x = masked(trace, k, s)?;
    }
    membrane_readout(trace, &format!("neuron{}", count - 1))
}
