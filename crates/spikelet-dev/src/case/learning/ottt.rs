//! Cases of the kinds `ottt` and `sltt`: two layers that learn online, with a loss in each step.

use super::Given;
use super::traced::Traced;
use crate::case::{Results, wrong};
use serde::Deserialize;
use spikelet::Result;
use spikelet::layer::TraceLearning;
use spikelet::loss::cross_entropy;
use spikelet::neuron::OtttLif;
use spikelet::prelude::*;
use spikelet::surrogate::Sigmoid;

#[derive(Deserialize)]
struct Constants {
    tau: f64,
    v_threshold: f64,
    v_reset: Option<f64>,
    alpha: f64,
    decay_input: bool,
}

impl Constants {
    fn lif(&self) -> Lif {
        let lif = Lif {
            decay_input: self.decay_input,
            ..Lif::new(self.tau)
        };
        lif.v_threshold(self.v_threshold)
            .v_reset(self.v_reset)
            .surrogate(Sigmoid { alpha: self.alpha })
            .detach_reset(true)
    }
}

/// Computes a case of the kind `ottt`.
pub fn ottt(given: &Given<'_>) -> Result<Results> {
    let c: Constants = given.constants()?;
    let neuron = || OtttLif { neuron: c.lif() };
    let build = |[features, hidden, classes]: [usize; 3]| {
        Sequential::new()
            .add_named("0", Linear::new(features, hidden).bias(true))
            .add_named(
                "s",
                TraceLearning::new(neuron(), Linear::new(hidden, classes).bias(true)),
            )
            .add_named("out", neuron())
    };
    let paths = ["s.neuron.spike_seq", "out.spike_seq"];
    run(given, build, paths, ["0", "s.then"])
}

/// Computes a case of the kind `sltt`.
pub fn sltt(given: &Given<'_>) -> Result<Results> {
    let c: Constants = given.constants()?;
    let neuron = || c.lif().time_grad(false);
    let build = |[features, hidden, classes]: [usize; 3]| {
        Sequential::new()
            .add_named("0", Linear::new(features, hidden).bias(true))
            .add_named("s", neuron())
            .add_named("1", Linear::new(hidden, classes).bias(true))
            .add_named("out", neuron())
    };
    run(given, build, ["s.spike_seq", "out.spike_seq"], ["0", "1"])
}

fn run(
    given: &Given<'_>,
    build: impl Fn([usize; 3]) -> Sequential,
    spikes: [&str; 2],
    layers: [&str; 2],
) -> Result<Results> {
    let mut traced = Traced::new(given)?;
    let x = traced.input("in.x", "[T, N, features]", 3)?;
    let matrix = |name: &str| -> Result<[usize; 2]> {
        let shape = given.input(name)?.shape;
        shape[..]
            .try_into()
            .map_err(|_| wrong(format!("`{name}` is {shape:?}"), "give a weight [out, in]"))
    };
    let [hidden, _] = matrix("param.0.weight")?;
    let [classes, _] = matrix("param.1.weight")?;
    let [time_steps, batch, features] = [x.dim(0), x.dim(1), x.dim(2)];
    let sizes = [features, hidden, classes];
    let mut parameters = vec![];
    for (k, layer) in layers.iter().enumerate() {
        let [outputs, inputs] = [sizes[k + 1], sizes[k]];
        for (name, shape) in [("weight", &[outputs, inputs][..]), ("bias", &[outputs])] {
            let path = format!("{layer}.{name}");
            traced.set(&path, &format!("param.{k}.{name}"), shape)?;
            parameters.push((path, format!("grad.{k}.{name}")));
        }
    }
    let label = traced.labels(batch, classes)?;
    let cx = traced.cx.clone();
    let out = cx.trace(&build(sizes), x)?;
    for (k, path) in spikes.iter().enumerate() {
        traced.output(&format!("out.s.{k}"), &cx.recorded(path)?);
    }
    let label = label.unsqueeze(0).expand([time_steps, batch]);
    let scores = out.reshape([time_steps * batch, classes]);
    let loss = cross_entropy(&scores, &label.reshape([time_steps * batch]));
    traced.output("out.loss", &loss);
    let names: Vec<(&str, &str)> = parameters
        .iter()
        .map(|(path, name)| (path.as_str(), name.as_str()))
        .collect();
    traced.gradients(&loss, &names);
    traced.run()
}
