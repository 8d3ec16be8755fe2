//! Encoders turn values into sequences.
//!
//! Each has its own file. To define an encoder in another crate, implement [`Encoder`].

mod delta;
mod direct;
mod latency;
mod periodic;
mod poisson;
mod population;
mod rate;
mod weighted_phase;

pub use delta::Delta;
pub use direct::Direct;
pub use latency::{Latency, LatencyCode};
pub use periodic::Periodic;
pub use poisson::Poisson;
pub use population::Population;
pub use rate::Rate;
pub use weighted_phase::WeightedPhase;

use crate::DefinitionError;
use crate::module::{Context, Module, StepOutputs};
use serde_json::Value;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use spikelet_schema::{Record, named_to_json, registry, words};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Encodes a value that is constant over time, `[N, …]`, as a sequence `[T, N, …]`.
pub trait Encoder: Record + Debug + Send + Sync {
    /// The next `time_steps` steps of the sequence; the full sequence may be longer (see
    /// [`Context::time_steps`]).
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var;
}

registry! {
    /// The encoders that files may have.
    pub static ENCODERS: dyn Encoder = "encoder" {
        Direct, Latency, Poisson, Population, Rate, WeightedPhase,
    }
}

impl dyn Encoder + '_ {
    /// The name, as in files.
    pub fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The name and the constants as [`from_spec`] reads them.
    pub fn spec(&self) -> Value {
        named_to_json(self).into()
    }
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
    let owner = format!("encoder `{}`", encoder.declaration().name);
    spikelet_schema::check(encoder).map_err(|error| DefinitionError::of(owner, error))
}

/// An encoder by its name, with constants that are not the defaults, as [`words::item`] reads it: `latency`, or
/// `latency code=log time_steps=16`.
///
/// # Errors
/// When the name or a constant is unknown, or a constant is outside its domain.
///
/// ```
/// assert!(spikelet_nn::encoder::parse("weighted_phase k=4").is_ok());
/// assert!(spikelet_nn::encoder::parse("morse").is_err());
/// ```
pub fn parse(text: &str) -> Result<Arc<dyn Encoder>, DefinitionError> {
    let spec = words::item(text);
    let spec = spec.map_err(|error| DefinitionError::of(format!("encoder `{text}`"), error))?;
    from_spec(&spec.to_json())
}

/// Builds an encoder from its name and constants, as in `{"name": "latency", "code": "log"}`.
///
/// # Errors
/// When the name or a constant is unknown, or a constant is outside its domain.
pub fn from_spec(spec: &Value) -> Result<Arc<dyn Encoder>, DefinitionError> {
    DefinitionError::reading(&ENCODERS, spec)
}

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
