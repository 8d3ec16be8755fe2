//! Cases of the kinds `stdp`, `mstdp` and `mstdpet`: a layer of synapses, neurons behind it, and a rule.

use super::Given;
use super::traced::Traced;
use crate::case::{Results, wrong};
use serde::Deserialize;
use spikelet::Result;
use spikelet::graph::Var;
use spikelet::learning::{
    LearningRule, Plastic, PlasticSynapses, RewardStdp, RewardTraceStdp, Stdp, Update,
    WeightFunction,
};
use spikelet::prelude::*;

#[derive(Deserialize)]
struct Constants {
    step_mode: StepMode,
    synapse: Synapse,
    neuron: NeuronConstants,
    tau_pre: f64,
    tau_post: f64,
    f_pre: WeightFunction,
    f_post: WeightFunction,
    scale: f64,
    update: When,
    lr: Option<f64>,
    w_clamp: Option<[f64; 2]>,
    #[serde(default)]
    stride: Vec<usize>,
    #[serde(default)]
    padding: Vec<usize>,
    dilation: Option<Vec<usize>>,
    groups: Option<usize>,
    tau_trace: Option<f64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum StepMode {
    #[serde(rename = "s")]
    Single,
    #[serde(rename = "m")]
    Multi,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Synapse {
    Linear,
    Conv1d,
    Conv2d,
}

#[derive(Deserialize)]
struct NeuronConstants {
    /// None for a neuron without leak.
    tau: Option<f64>,
    v_threshold: f64,
    v_reset: Option<f64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum When {
    End,
    EachStep,
}

impl NeuronConstants {
    fn layer(&self) -> Box<dyn Module> {
        match self.tau {
            Some(tau) => Box::new(
                Lif::new(tau)
                    .v_threshold(self.v_threshold)
                    .v_reset(self.v_reset),
            ),
            None => Box::new(
                If::new()
                    .v_threshold(self.v_threshold)
                    .v_reset(self.v_reset),
            ),
        }
    }
}

impl Constants {
    fn reward_stdp(&self) -> RewardStdp {
        RewardStdp {
            tau_pre: self.tau_pre,
            tau_post: self.tau_post,
            f_pre: self.f_pre,
            f_post: self.f_post,
            scale: self.scale,
        }
    }

    /// Sizes of a convolution, one for each axis.
    fn sizes<const D: usize>(&self, name: &str, given: &[usize]) -> Result<[usize; D]> {
        given.try_into().map_err(|_| {
            wrong(
                format!(
                    "`{name}` has {} sizes, the convolution {D} axes",
                    given.len()
                ),
                "give one size for each axis",
            )
        })
    }

    fn conv<const D: usize>(&self, shape: &[usize]) -> Result<Box<dyn PlasticSynapses>> {
        let &[outputs, inputs, ..] = shape else {
            return Err(weight_shape(shape));
        };
        let kernel: [usize; D] = shape[2..].try_into().map_err(|_| weight_shape(shape))?;
        let ones = vec![1; D];
        let mut conv = spikelet::layer::Conv::<D>::new(inputs, outputs, kernel)
            .bias(false)
            .stride(self.sizes("stride", &self.stride)?)
            .padding(self.sizes("padding", &self.padding)?)
            .dilation(self.sizes("dilation", self.dilation.as_ref().unwrap_or(&ones))?);
        conv.groups = self.groups.unwrap_or(1);
        Ok(Box::new(conv))
    }

    fn synapses(&self, shape: &[usize]) -> Result<Box<dyn PlasticSynapses>> {
        match self.synapse {
            Synapse::Linear => match shape {
                &[outputs, inputs] => Ok(Box::new(Linear::new(inputs, outputs).bias(false))),
                _ => Err(weight_shape(shape)),
            },
            Synapse::Conv1d => self.conv::<1>(shape),
            Synapse::Conv2d => self.conv::<2>(shape),
        }
    }
}

fn weight_shape(shape: &[usize]) -> Error {
    wrong(
        format!("`param.weight` is {shape:?}, which is no weight of the synapse"),
        "give [out, in] of a linear layer, [out, in, kernel…] of a convolution",
    )
}

/// Computes a case of the kind `stdp`.
pub fn stdp(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    let rule = Stdp {
        tau_pre: constants.tau_pre,
        tau_post: constants.tau_post,
        f_pre: constants.f_pre,
        f_post: constants.f_post,
        scale: constants.scale,
    };
    run(given, &constants, rule, false)
}

/// Computes a case of the kind `mstdp`.
pub fn mstdp(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    run(given, &constants, constants.reward_stdp(), true)
}

/// Computes a case of the kind `mstdpet`, whose sequences have no batch axis.
pub fn mstdpet(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    let Some(tau_trace) = constants.tau_trace else {
        return Err(wrong("it has no constant `tau_trace`", "give it"));
    };
    let stdp = constants.reward_stdp();
    run(given, &constants, RewardTraceStdp { stdp, tau_trace }, true)
}

fn run(
    given: &Given<'_>,
    c: &Constants,
    rule: impl LearningRule + 'static,
    rewarded: bool,
) -> Result<Results> {
    let by_batch = c.tau_trace.is_none();
    let mut traced = Traced::new(given)?;
    let shape = given.input("param.weight")?.shape;
    let synapses = c.synapses(&shape)?;
    let axes = shape.len() + usize::from(by_batch);
    let x = traced.input("in.x", "[T, N, …]", axes)?;
    let x = if by_batch { x } else { x.unsqueeze(1) };
    if rewarded {
        let reward = given.input("in.reward")?;
        let reward = traced.add_input("in.reward", reward);
        traced.cx.give_signal("reward", &reward);
    }
    let lr = c.lr.unwrap_or(1.0);
    let mut layer = Plastic::new(synapses, c.neuron.layer(), rule);
    layer = match c.update {
        When::EachStep => layer.lr(lr),
        When::End => layer.update(Update::Gradient),
    };
    if let Some([low, high]) = c.w_clamp {
        layer = layer.bounds(low, high);
    }
    traced.set("synapses.weight", "param.weight", &shape)?;
    let cx = traced.cx.clone();
    let s = cx.trace(&layer, x.clone())?;
    let no_batch = |value: &Var| {
        if by_batch {
            value.clone()
        } else {
            value.squeeze(1)
        }
    };
    let recorded = |name: &str| cx.recorded(name);
    let (p, q) = (recorded("trace_pre")?, recorded("trace_post")?);
    traced.output("out.s", &no_batch(&s));
    traced.output("out.trace_pre", &no_batch(&padded(&p, &c.padding)));
    traced.output("out.trace_post", &no_batch(&q));
    let changes = recorded("change_seq")?;
    traced.output(
        "out.dw",
        &match c.step_mode {
            StepMode::Single => changes,
            StepMode::Multi => changes.sum(&[0]),
        },
    );
    let weight = cx
        .tracer()
        .find_input("synapses.weight")
        .ok_or_else(|| wrong("there is no weight", "correct the case"))?;
    let time_steps = x.dim(0);
    let one_step = [&[1], &shape[..]].concat();
    let before = match c.update {
        When::End => weight.reshape(one_step),
        When::EachStep => {
            let after = recorded("weight_seq")?;
            let last = after.slice(0, time_steps - 1..time_steps);
            traced.output("out.weight", &last.reshape(&shape[..]));
            let first = weight.reshape(one_step);
            match time_steps {
                1 => first,
                _ => Var::concat(&[&first, &after.slice(0, 0..time_steps - 1)], 0),
            }
        }
    };
    if rewarded {
        let pair = |post: &Var, pre: &Var| post.unsqueeze(3) * pre.unsqueeze(2);
        let before = before.unsqueeze(1);
        let function = |f: WeightFunction| before.map1(|w| f.of(w));
        let eligibility =
            function(c.f_post) * pair(&s, &p) - function(c.f_pre) * pair(&q, &x.cast(q.ty().dtype));
        traced.output("out.eligibility", &no_batch(&eligibility));
    }
    if c.tau_trace.is_some() {
        traced.output("out.trace_e", &recorded("trace_e")?);
    }
    if c.update == When::End {
        let losses = cx.traced().losses;
        let loss = losses.into_iter().reduce(|a, b| a + b);
        let loss = loss.ok_or_else(|| wrong("the rule changes no weight", "correct the case"))?;
        traced.gradients(&loss, &[("synapses.weight", "grad.weight")]);
    }
    traced.run()
}

/// A trace `[T, N, C, …]` with zeros around its positions.
fn padded(trace: &Var, padding: &[usize]) -> Var {
    let axes = padding.iter().enumerate();
    axes.fold(trace.clone(), |padded, (k, &zeros)| match zeros {
        0 => padded,
        _ => padded.pad(3 + k, zeros, zeros, 0.0),
    })
}
