//! The Braille network of the NIR paper: two layers of snnTorch's second-order neurons.

use super::program::Trace;
use super::snntorch::set_reset;
use super::{Spec, cross_entropy};
use serde::Deserialize;
use spikelet::layer::{RSynaptic, kind};
use spikelet::neuron::RSynapticCell;
use spikelet::prelude::*;
use spikelet::surrogate::FastSigmoid;
use std::sync::Arc;

#[derive(Deserialize)]
struct Constants {
    alpha_r: f64,
    beta_r: f64,
    alpha_out: f64,
    beta_out: f64,
    reg_l1: f64,
    reg_l2: f64,
    threshold: f64,
    slope: f64,
    reset_mechanism: String,
    reset_delay: bool,
}

impl Constants {
    fn layer(
        &self,
        [inputs, features]: [usize; 2],
        [alpha, beta]: [f64; 2],
    ) -> Result<spikelet::layer::NeuronLayer<kind::RSynaptic>> {
        let mut cell = RSynapticCell {
            alpha,
            ..RSynapticCell::default()
        };
        cell.neuron.beta = beta;
        cell.neuron.common.v_threshold = self.threshold;
        cell.neuron.common.surrogate = Arc::new(FastSigmoid { slope: self.slope });
        set_reset(&mut cell.neuron, &self.reset_mechanism, self.reset_delay)?;
        Ok(RSynaptic::new(inputs, features).neuron(|_| cell))
    }
}

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let [hidden, inputs] = trace.matrix("param.fc1.weight")?;
    let [classes, _] = trace.matrix("param.fc2.weight")?;
    let x = trace.sequence(hidden.max(classes))?;
    let factors = [constants.alpha_r, constants.beta_r];
    let first = constants
        .layer([inputs, hidden], factors)?
        .bias(trace.has("param.fc1.bias"))
        .with(|parts| {
            let bias = trace.has("param.lif1.recurrent.bias");
            parts.feedback = parts.feedback.map(|weights| weights.bias(bias));
        });
    let s1 = trace.layer("1", &first, x)?;
    let factors = [constants.alpha_out, constants.beta_out];
    let second = constants
        .layer([hidden, classes], factors)?
        .bias(trace.has("param.fc2.bias"))
        .recurrent(false);
    let s2 = trace.layer("2", &second, s1.clone())?;
    for (path, linear) in [("1", "fc1"), ("2", "fc2")] {
        let names = [("linear.weight", "weight"), ("linear.bias", "bias")];
        trace.bind_all(path, "param", &format!("{linear}."), &names);
        let states = [("mem", "neuron.v_seq"), ("syn", "neuron.syn_seq")];
        trace.outputs_of(path, &format!("{path}."), &states)?;
    }
    let names = [("feedback.weight", "weight"), ("feedback.bias", "bias")];
    trace.bind_all("1", "param", "lif1.recurrent.", &names);
    trace.output("1.s", &s1);
    trace.output("2.s", &s2);
    let counts = s2.sum(&[0]);
    trace.output("counts", &counts);
    let ce = cross_entropy(trace, &counts)?;
    trace.output("ce", &ce);
    let each = s1.sum(&[0]).mean_all() * constants.reg_l1;
    let total = s1.sum(&[0, 2]).square().mean_all() * constants.reg_l2;
    let reg = each + total;
    trace.output("reg", &reg);
    trace.set_loss(&(ce + reg));
    Ok(())
}
