//! Cases of the kind `trace_stdp`: pair and triplet rules between given spikes.

use super::Given;
use super::traced::Traced;
use crate::case::Results;
use serde::Deserialize;
use spikelet::Result;
use spikelet::learning::{
    Bound, Interaction, LearningRule, PairStdp, RuleInputs, TripletStdp, run_rule,
};
use spikelet::prelude::*;

#[derive(Deserialize)]
struct Constants {
    dt: f64,
    tau_plus: f64,
    tau_minus: f64,
    a2_plus: f64,
    a2_minus: f64,
    bound: Bound,
    w_min: f64,
    w_max: f64,
    interaction: Interaction,
    tau_x: Option<f64>,
    tau_y: Option<f64>,
    #[serde(default)]
    a3_plus: f64,
    #[serde(default)]
    a3_minus: f64,
}

/// Computes the case.
pub fn run(given: &Given<'_>) -> Result<Results> {
    let c: Constants = given.constants()?;
    let pair = PairStdp {
        dt: c.dt,
        tau_plus: c.tau_plus,
        tau_minus: c.tau_minus,
        a2_plus: c.a2_plus,
        a2_minus: c.a2_minus,
        w_min: c.w_min,
        w_max: c.w_max,
        bound: c.bound,
        interaction: c.interaction,
    };
    match (c.tau_x, c.tau_y) {
        (None, None) => traces(given, &pair, &["r1", "o1"]),
        (tau_x, tau_y) => {
            let default = TripletStdp::default();
            let rule = TripletStdp {
                pair,
                tau_x: tau_x.unwrap_or(default.tau_x),
                tau_y: tau_y.unwrap_or(default.tau_y),
                a3_plus: c.a3_plus,
                a3_minus: c.a3_minus,
            };
            traces(given, &rule, &["r1", "o1", "r2", "o2"])
        }
    }
}

fn traces(given: &Given<'_>, rule: &dyn LearningRule, names: &[&str]) -> Result<Results> {
    let mut traced = Traced::new(given)?;
    let pre = traced.input("in.pre", "[T, units]", 2)?.unsqueeze(1);
    let post = traced.input("in.post", "[T, units]", 2)?.unsqueeze(1);
    let shape = [post.dim(2), pre.dim(2)];
    traced.set("weight", "param.weight", &shape)?;
    let synapses = Linear::new(shape[1], shape[0]).bias(false);
    let cx = traced.cx.clone();
    let weights = cx.step_loop_many(&[pre, post], |steps| {
        let weight = cx.buffer("weight", shape, Init::Constant(0.0));
        let inputs = RuleInputs {
            synapses: &synapses,
            weight: &weight,
            pre: &steps[0],
            post: &steps[1],
            values: &[],
        };
        let changed = &weight + run_rule(&cx, rule, inputs)?.change;
        let next = match rule.bounds() {
            Some([low, high]) => changed.clamp(low, high),
            None => changed,
        };
        cx.set_buffer(&weight, &next);
        Ok(vec![next.unsqueeze(0)])
    })?;
    traced.output("out.weight_seq", &weights[0]);
    for name in names {
        let sequence = cx.recorded(name)?;
        traced.output(&format!("out.{name}"), &sequence.squeeze(1));
    }
    traced.run()
}
