//! Cases of recurrent layers and networks: specifications with `family`.
//!
//! Each family says how its parameters and states are called; layers are those of the library. Which results are
//! wanted is the list `f32_noise` of the specification.

mod braille;
mod dcls;
mod delay;
mod delrec;
mod norse;
mod program;
mod seadlif;
mod snntorch;
mod sparch;
mod spikingjelly;
mod yin;

use super::{Results, expect, fields, wrong};
use program::Trace;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spikelet::graph::{Backend, DType};
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// The fields of a specification that are read.
#[derive(Deserialize)]
struct Spec {
    family: String,
    kind: String,
    #[serde(default)]
    neuron: String,
    #[serde(default)]
    constants: Value,
    #[serde(default)]
    regulariser: Option<Value>,
    /// The results by name.
    f32_noise: BTreeMap<String, Value>,
}

impl Spec {
    /// The constants of a family.
    fn constants<T: DeserializeOwned>(&self) -> Result<T> {
        let family = &self.family;
        serde_json::from_value(self.constants.clone())
            .map_err(|e| wrong(format!("the constants of {family}: {e}"), "correct `spec`"))
    }

    fn is_network(&self) -> Result<bool> {
        match self.kind.as_str() {
            "layer" => Ok(false),
            "network" => Ok(true),
            other => Err(wrong(
                format!("the spec's kind is `{other}`"),
                "use layer or network",
            )),
        }
    }

    /// The error for a neuron that the family does not have.
    fn unknown_neuron(&self, known: &str) -> Error {
        let (neuron, family) = (&self.neuron, &self.family);
        wrong(
            format!("the family {family} has no neuron `{neuron}`"),
            &format!("use {known}"),
        )
    }
}

pub fn run(
    case: &TensorFile,
    spec: Value,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<Results> {
    let spec: Spec = fields(spec)?;
    let mut trace = Trace::new(case, dtype)?;
    let trace_family = match (spec.family.as_str(), spec.is_network()?) {
        ("sparch" | "silif", false) => sparch::layer,
        ("sparch" | "silif", true) => sparch::network,
        ("seadlif", false) => seadlif::layer,
        ("seadlif", true) => seadlif::network,
        ("snntorch", false) => snntorch::layer,
        ("norse", false) => norse::layer,
        ("spikingjelly", false) => spikingjelly::layer,
        ("yin", true) => yin::network,
        ("braille", true) => braille::network,
        ("dcls", false) => dcls::layer,
        ("dcls", true) => dcls::network,
        ("delay", false) => delay::layer,
        ("delrec", false) => delrec::layer,
        ("delrec", true) => delrec::network,
        (family, network) => {
            let kind = if network { "networks" } else { "layers" };
            return Err(wrong(
                format!("there are no {kind} of a family `{family}`"),
                "use layers of sparch, silif, seadlif, snntorch, norse, spikingjelly, dcls, delay or delrec, or networks of sparch, silif, seadlif, yin, braille, dcls or delrec",
            ));
        }
    };
    trace_family(&spec, &mut trace)?;
    let wanted: Vec<&str> = spec.f32_noise.keys().map(String::as_str).collect();
    trace.run(&wanted, backend)
}

/// Makes a constant trainable with one value for each neuron, or one for the layer, as `shape` says.
fn trained(common: &mut Common, name: &str, shape: &[usize], bound: Bound) {
    let granularity = match shape {
        [] => Granularity::Layer,
        _ => Granularity::Neuron,
    };
    let mut how = Trainable::new(granularity);
    how.bound = bound;
    common.trainable.insert(name.to_string(), how);
}

/// Cross entropy of scores `[N, C]` and the labels of a case.
fn cross_entropy(trace: &mut Trace<'_>, scores: &Var) -> Result<Var> {
    let label = trace.labels(scores)?;
    Ok(loss::cross_entropy(scores, &label))
}

/// Cross entropy of scores `[N, C]` and the probabilities of the classes.
fn soft_cross_entropy(trace: &mut Trace<'_>, scores: &Var) -> Result<Var> {
    expect("in.label", trace.shape("in.label")?, scores.shape())?;
    let target = trace.input("in.label")?;
    Ok(loss::CrossEntropy::new().soft(scores, &target))
}

/// The default of constants that scale.
fn one() -> f64 {
    1.0
}

/// Multiplies spikes by the mask of a layer's dropout, if the case has one.
fn masked(trace: &mut Trace<'_>, layer: impl Display, spikes: Var) -> Result<Var> {
    let mask = format!("mask.{layer}");
    Ok(match trace.has(&mask) {
        true => spikes * trace.input(&mask)?,
        false => spikes,
    })
}

/// Traces batch norm under a path, whose tensors in the case start with `prefix`.
fn batch_norm(trace: &mut Trace<'_>, path: &str, prefix: &str, x: Var) -> Result<Var> {
    let x = trace.module(path, &BatchNorm1d::new(x.dim(2)), x)?;
    let names = ["weight", "bias", "running_mean", "running_var"];
    let names = names.map(|name| (name, name));
    trace.bind_all(path, "param", prefix, &names);
    Ok(x)
}

/// The number of layers `param.0.NAME`, `param.1.NAME` …: hidden layers and the readout.
fn layer_count(trace: &Trace<'_>, name: &str) -> Result<usize> {
    let count = (0..)
        .take_while(|k| trace.has(&format!("param.{k}.{name}")))
        .count();
    match count {
        0 | 1 => Err(wrong(
            format!("it has no layers `param.0.{name}`, `param.1.{name}` …"),
            "give at least one hidden layer and the readout",
        )),
        _ => Ok(count),
    }
}

/// The loss of a network whose last neuron, under a path, never fires: its membrane is the output.
fn membrane_readout(trace: &mut Trace<'_>, path: &str) -> Result<()> {
    let v = trace.recorded(&format!("{path}.v_seq"))?;
    trace.output("v_out", &v);
    let logits = v.softmax().sum(&[0]);
    trace.output("logits", &logits);
    let loss = soft_cross_entropy(trace, &logits)?;
    trace.set_loss(&loss);
    Ok(())
}
