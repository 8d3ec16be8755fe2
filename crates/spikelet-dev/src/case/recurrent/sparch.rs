//! sparch (LIF, adLIF, RLIF, RadLIF) and SSM-inspired-LIF (CadLIF, SiLIF, CSiLIF).

use super::program::{Part, Trace};
use super::{Spec, cross_entropy, layer_count, masked};
use serde::Deserialize;
use spikelet::layer::{NeuronLayer, NeuronLayerKind};
use spikelet::neuron::{AdLifCell, LeakyIntegrator, SiLifCell, SparchLif};
use spikelet::prelude::*;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Constants {
    #[serde(default = "super::one")]
    threshold: f64,
    /// The limits of clamped constants.
    #[serde(default)]
    limits: BTreeMap<String, [f64; 2]>,
    bn: Option<Norm>,
}

#[derive(Deserialize)]
struct Norm {
    eps: f64,
    momentum: f64,
    #[serde(default = "yes")]
    train: bool,
}

#[derive(Deserialize)]
struct Regularizer {
    factor: f64,
    fmin: f64,
    fmax: f64,
}

fn yes() -> bool {
    true
}

/// The states of a neuron: pairs of the library's name and the case's.
type States = &'static [(&'static str, &'static str)];

/// A layer's place in the network.
struct Place<'a> {
    /// Its path in the library.
    path: &'a str,
    /// The prefix of its tensors in the case.
    prefix: &'a str,
    constants: &'a Constants,
}

impl Place<'_> {
    fn parameter(&self, name: &str) -> String {
        format!("param.{}{name}", self.prefix)
    }

    /// Sizes, batch norm, limits and threshold of a layer; then its trace.
    fn trace<K: NeuronLayerKind>(
        &self,
        trace: &mut Trace<'_>,
        x: Var,
        states: States,
        set: impl Fn(&mut K::Neuron, &str, f64),
    ) -> Result<Var> {
        let [features, inputs] = trace.matrix(&self.parameter("W.weight"))?;
        let constants = self.constants;
        let has_norm = trace.has(&self.parameter("norm.weight"));
        let mut layer = NeuronLayer::<K>::new(inputs, features)
            .normalize(has_norm)
            .recurrent(trace.has(&self.parameter("V.weight")))
            .neuron(|mut neuron| {
                neuron.common_mut().v_threshold = constants.threshold;
                for (name, [low, high]) in &constants.limits {
                    let known = neuron.common_mut().trainable.get_mut(name.as_str());
                    if let Some(how) = known {
                        *how = Trainable::new(Granularity::Neuron).clamp(*low, *high);
                        set(&mut neuron, name, 0.5 * (low + high));
                    }
                }
                neuron
            });
        if let (true, Some(bn)) = (has_norm, &constants.bn) {
            let norm = BatchNorm1d::new(features)
                .epsilon(bn.eps)
                .momentum(bn.momentum);
            layer = layer.with(|parts| parts.norm = Some(norm));
        }
        let batch = x.shape().get(1).copied().unwrap_or(0);
        let first = format!("init.{}{}", self.prefix, states[0].1);
        let twice = trace.shape(&first)?.first() == Some(&(2 * batch));
        let layer = layer.bidirectional(twice);
        let y = trace.layer(self.path, &layer, x)?;
        self.bind(trace, layer.parts().feedback.is_some(), states);
        Ok(y)
    }

    fn bind(&self, trace: &mut Trace<'_>, recurrent: bool, states: States) {
        let (path, prefix) = (self.path, self.prefix);
        let names = [
            ("linear.weight", "W.weight"),
            ("norm.weight", "norm.weight"),
            ("norm.bias", "norm.bias"),
            ("norm.running_mean", "norm.running_mean"),
            ("norm.running_var", "norm.running_var"),
        ];
        trace.bind_all(path, "param", prefix, &names);
        let constants = [
            "alpha",
            "beta",
            "a",
            "b",
            "dt",
            "log_log_alpha",
            "log_dt",
            "alpha_img",
        ];
        for name in constants {
            let ours = format!("neuron.{name}");
            trace.bind_all(path, "param", prefix, &[(&ours, name)]);
        }
        // Rows of the case's matrix are the neurons that fire.
        trace.bind(
            format!("{path}.feedback.weight"),
            self.parameter("V.weight"),
            Part::Transposed,
        );
        for (own, theirs) in states {
            let ours = format!("neuron.{own}");
            trace.bind_all(path, "init", prefix, &[(&ours, theirs)]);
        }
        if recurrent {
            trace.bind_all(path, "init", prefix, &[("spikes", "s")]);
        }
    }
}

const PLAIN: States = &[("v", "u"), ("fired", "s")];
const ADAPTIVE: States = &[("v", "u"), ("w", "w"), ("fired", "s")];
const COMPLEX: States = &[("v", "u_re"), ("i", "u_im"), ("fired", "s")];

/// Traces the layer of the specification's neuron, and returns its output and its states.
fn hidden(spec: &Spec, trace: &mut Trace<'_>, place: &Place<'_>, x: Var) -> Result<(Var, States)> {
    use spikelet::layer::kind;
    let adaptive = |cell: &mut AdLifCell, name: &str, value| match name {
        "alpha" => cell.alpha = value,
        "beta" => cell.beta = value,
        "a" => cell.a = value,
        _ => cell.b = value,
    };
    let plain = |cell: &mut SparchLif, _: &str, value| cell.alpha = value;
    let silif = |cell: &mut SiLifCell, name: &str, value| match name {
        "a" => cell.a = value,
        "b" => cell.b = value,
        "alpha" => cell.alpha = value,
        "beta" => cell.beta = value,
        _ => cell.dt = value,
    };
    Ok(match spec.neuron.as_str() {
        "LIF" | "RLIF" => (place.trace::<kind::RLif>(trace, x, PLAIN, plain)?, PLAIN),
        "adLIF" => (
            place.trace::<kind::AdLif>(trace, x, ADAPTIVE, adaptive)?,
            ADAPTIVE,
        ),
        "RadLIF" => (
            place.trace::<kind::RadLif>(trace, x, ADAPTIVE, adaptive)?,
            ADAPTIVE,
        ),
        "CadLIF" => (
            place.trace::<kind::CadLif>(trace, x, ADAPTIVE, adaptive)?,
            ADAPTIVE,
        ),
        "SiLIF" => (
            place.trace::<kind::SiLif>(trace, x, ADAPTIVE, silif)?,
            ADAPTIVE,
        ),
        "CSiLIF" => (
            place.trace::<kind::CSiLif>(trace, x, COMPLEX, |_, _, _| ())?,
            COMPLEX,
        ),
        _ => {
            return Err(spec.unknown_neuron("LIF, adLIF, RLIF, RadLIF, CadLIF, SiLIF or CSiLIF"));
        }
    })
}

/// The recorded states of a layer, but the spikes.
fn states(trace: &mut Trace<'_>, place: &Place<'_>, states: States) -> Result<()> {
    for (own, theirs) in states.iter().filter(|(own, _)| *own != "fired") {
        let recorded = format!("neuron.{own}_seq");
        trace.outputs_of(place.path, place.prefix, &[(theirs, &recorded)])?;
    }
    Ok(())
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let evaluates = constants.bn.as_ref().is_some_and(|bn| !bn.train);
    if evaluates {
        trace.evaluate();
    }
    let [features, _] = trace.matrix("param.W.weight")?;
    let x = trace.sequence(features)?;
    let place = Place {
        path: "layer",
        prefix: "",
        constants: &constants,
    };
    let (s, found) = hidden(spec, trace, &place, x)?;
    states(trace, &place, found)?;
    trace.outputs_of("layer", "", &[("wx", "current_seq")])?;
    trace.output("s", &s);
    trace.weighted_loss(&[("s", &s)])
}

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    if constants.bn.as_ref().is_some_and(|bn| !bn.train) {
        trace.evaluate();
    }
    let count = layer_count(trace, "W.weight")?;
    let mut widest = 0;
    for k in 0..count {
        widest = widest.max(trace.matrix(&format!("param.{k}.W.weight"))?[0]);
    }
    let mut x = trace.sequence(widest)?;
    let mut dropped = vec![];
    for k in 0..count - 1 {
        let (path, prefix) = (k.to_string(), format!("{k}."));
        let place = Place {
            path: &path,
            prefix: &prefix,
            constants: &constants,
        };
        let (s, found) = hidden(spec, trace, &place, x)?;
        states(trace, &place, found)?;
        trace.output(format!("{k}.s"), &s);
        x = masked(trace, k, s)?;
        dropped.push(x.clone());
    }
    let (path, prefix) = ((count - 1).to_string(), format!("{}.", count - 1));
    let place = Place {
        path: &path,
        prefix: &prefix,
        constants: &constants,
    };
    let u: States = &[("v", "u")];
    let set = |cell: &mut LeakyIntegrator, _: &str, value| cell.alpha = value;
    let made = place.trace::<spikelet::layer::kind::SparchReadout>(trace, x, u, set)?;
    states(trace, &place, u)?;
    let logits = made.reshape(&made.shape()[1..]);
    trace.output("logits", &logits);
    let ce = cross_entropy(trace, &logits)?;
    trace.output("ce", &ce);
    let rates: Vec<Var> = dropped.iter().map(|s| s.mean(&[0, 1])).collect();
    let rates = Var::concat(&rates.iter().collect::<Vec<_>>(), 0);
    trace.output("firing_rates", &rates);
    let regularizer = (spec.regulariser.clone()).map(super::fields::<Regularizer>);
    let total = match regularizer.transpose()? {
        Some(Regularizer { factor, fmin, fmax }) => {
            let terms = dropped.iter().map(|s| loss::rate_limits(s, fmin, fmax));
            let sum = terms.reduce(|a, b| a + b);
            sum.map_or(ce.clone(), |sum| &ce + sum * factor)
        }
        None => ce,
    };
    trace.set_loss(&total);
    Ok(())
}
