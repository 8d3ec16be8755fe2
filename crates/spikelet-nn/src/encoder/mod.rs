//! Encoders turn values into sequences.
//!
//! Each has its own file. To define an encoder in another crate, implement [`Encoder`].

mod delta;
mod periodic;

pub use delta::Delta;
pub use latency::LatencyCode;
pub use periodic::Periodic;

use crate::DefinitionError;
use crate::domain::{self, Constant};
use crate::module::{Context, Module, StepOutputs};
use crate::registry::{self, Entry, family};
use serde::Deserialize;
use serde_json::Value;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use std::ops::Range;
use std::sync::Arc;

/// Encodes a value that is constant over time, `[N, …]`, as a sequence `[T, N, …]`.
pub trait Encoder: Send + Sync {
    /// The next `time_steps` steps of the sequence; the full sequence may be longer (see
    /// [`Context::time_steps`]).
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var;

    /// The domains of its constants. A network whose encoder has a constant outside its domain is an
    /// error.
    fn domains(&self) -> Vec<Constant> {
        vec![]
    }

    /// The name and constants in the format of [`from_spec`]; null for an encoder of another crate.
    fn spec(&self) -> Value {
        Value::Null
    }
}

family! { "encoder", Encoder, check;
    direct::Direct = "direct", "the value itself at each step";
    latency::Latency = "latency", "one spike, the earlier the larger the value";
    poisson::Poisson = "poisson", "spikes with the probability of the value";
    population::Population = "population", "each value by several tuning curves, whose responses are encoded";
    rate::Rate = "rate", "as poisson, with a seed of its own";
    weighted_phase::WeightedPhase = "weighted_phase", "the bits of the value, one a step";
}

impl Context {
    /// Traces a network on the sequence that an encoder computes from `x`, `[N, …]`.
    ///
    /// # Errors
    /// When shapes do not match.
    pub fn trace_encoded(
        &self,
        module: &dyn Module,
        encoder: &dyn Encoder,
        x: &Var,
        time_steps: usize,
    ) -> Result<StepOutputs> {
        check(encoder)?;
        let part = |steps: Range<usize>| encoder.encode(self, x, steps.len());
        self.trace_steps(module, time_steps, part)
    }
}

/// Checks that the constants are in their domains.
fn check(encoder: &dyn Encoder) -> Result<(), DefinitionError> {
    let spec = encoder.spec();
    let name = spec["name"].as_str().unwrap_or_default();
    domain::check(&encoder.domains(), &format!("encoder `{name}`"))
}

/// An encoder by its name, with constants that are not the defaults: `latency` or
/// `latency:code=log,time_steps=16`.
///
/// # Errors
/// When the name or a constant is unknown, or a constant is outside its domain.
///
/// ```
/// assert!(spikelet_nn::encoder::parse("weighted_phase:k=4").is_ok());
/// assert!(spikelet_nn::encoder::parse("morse").is_err());
/// ```
pub fn parse(text: &str) -> Result<Arc<dyn Encoder>, DefinitionError> {
    let (name, constants) = text.split_once(':').unwrap_or((text, ""));
    let constants = constants.split(',').filter(|c| !c.is_empty());
    let constants = constants.map(|constant| {
        let (key, value) = constant.split_once('=').unwrap_or((constant, "null"));
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        (key.trim().to_string(), value)
    });
    (find(name)?.build)(&constants.collect())
}

/// Builds an encoder from its name and constants, as in `{"name": "latency", "code": "log"}`.
///
/// # Errors
/// When the name or a constant is unknown, or a constant is outside its domain.
pub fn from_spec(spec: &Value) -> Result<Arc<dyn Encoder>, DefinitionError> {
    registry::from_spec("encoder", find, spec)
}

/// An encoder without constants in files.
#[derive(Deserialize)]
struct Plain {}

/// Runs a recurrence over `x`, which is the same at each step. Its states start from 0 and are carried like
/// those of neurons.
fn over_time(cx: &Context, step: Recurrence, x: &Var, time_steps: usize) -> Var {
    let sequence = x.repeat_over_time(time_steps);
    cx.tracer()
        .scope("input encoder", || run(cx, step, &sequence))
}

/// Runs a recurrence over a sequence. Its states start from 0.
fn run(cx: &Context, step: Recurrence, sequence: &Var) -> Var {
    let shape = &sequence.shape()[1..];
    let states: Vec<Var> = (step.states.iter())
        .map(|name| cx.state(name, shape, 0.0))
        .collect();
    let before: Vec<&Var> = states.iter().collect();
    let step = Arc::new(step);
    let made = Var::scan(&step, sequence.dim(0), &[sequence], &before, &[]);
    let [outputs, lasts, _] = step.split_results(&made);
    for (state, last) in states.iter().zip(lasts) {
        cx.set_state(state, last);
    }
    outputs[0].clone()
}
