//! A stage's programs as graphs.
//!
//! | program | reads | makes |
//! |---|---|---|
//! | forward | `x`, states that the chunk before left | `y`, states, what is kept for the backward pass |
//! | backward | what was kept, `grad_y`, gradients of the states left | `grad_x`, gradients of the states found; adds to `sum …` |
//! | update | `sum …`, optimizer tensors | parameters; clears `sum …` |

use spikelet_core::{Error, Result};
use spikelet_graph::{DType, ForwardBackwardPlans, Graph, Output, Plan, Target, TensorType, Var};
use spikelet_nn::encoder::Encoder;
use spikelet_nn::module::{
    BEFORE, Chunk, Context, Mode, Module, Precision, Propagation, Traced, TracedTensor,
};
use std::sync::Arc;

/// The input of a stage.
pub(super) const X: &str = "x";
/// What it makes.
pub(super) const Y: &str = "y";
/// The gradient of its output.
pub(super) const GRAD_Y: &str = "grad_y";
/// The gradient of its input.
pub(super) const GRAD_X: &str = "grad_x";

const AFTER: &str = "state after ";
const GRAD_BEFORE: &str = "grad of state before ";
const GRAD_AFTER: &str = "grad of state after ";
const SUM: &str = "sum of ";

/// The sum of a parameter's gradients over micro-batches.
pub(super) fn sum_name(parameter: &str) -> String {
    format!("{SUM}{parameter}")
}

/// Whether this is such a sum: it lasts no longer than a step.
pub(super) fn is_sum(name: &str) -> bool {
    name.starts_with(SUM)
}

/// What a neighboring chunk holds of a state.
pub(super) enum Neighbour {
    /// The chunk before, under this name.
    Before(String),
    /// The chunk behind.
    Behind(String),
}

/// In which other chunk's buffer a chunk finds what it reads under this name, if it is one: a
/// state where it begins, or the gradient of one where it ends.
pub(super) fn neighbor(name: &str) -> Option<Neighbour> {
    let state = name.strip_prefix(BEFORE);
    let grad = name.strip_prefix(GRAD_AFTER);
    state
        .map(|path| Neighbour::Before(format!("{AFTER}{path}")))
        .or(grad.map(|path| Neighbour::Behind(format!("{GRAD_BEFORE}{path}"))))
}

/// What the first stage is given.
#[derive(Clone)]
pub(super) enum Feed {
    /// A sequence `[T, N, …]`.
    Sequence,
    /// `[N, …]`, of which an encoder makes the sequence.
    Encoded(Arc<dyn Encoder>),
    /// One step `[1, N, …]`, which is that of every time step.
    Constant,
}

/// What a stage is traced for.
#[derive(Clone)]
pub(super) struct Purpose {
    pub(super) training: bool,
    pub(super) precision: Precision,
    pub(super) propagation: Propagation,
    /// Which part of the time steps.
    pub(super) chunk: Chunk,
    /// Its number of steps.
    pub(super) steps: usize,
    /// What its output is stored in, if it is not the type that it is computed in.
    pub(super) stores: Option<DType>,
    /// Whether no stage follows.
    pub(super) last: bool,
    /// Draws of earlier stages, whose numbers this stage's follow.
    pub(super) streams: u32,
}

/// A stage that was traced for one kind of unit.
pub(super) struct StageGraph {
    pub(super) graph: Graph,
    pub(super) traced: Traced,
    pub(super) output: TensorType,
    /// Whether the output is one step, which is that of every time step.
    pub(super) constant: bool,
    /// Draws of the stages up to this one.
    pub(super) streams: u32,
}

/// Traces a stage for the input `given`: `[T, N, …]`, or `[N, …]` where an encoder makes the
/// sequence. With `wants_grad_x` its backward pass makes the gradient of the input.
pub(super) fn trace(
    module: &dyn Module,
    purpose: &Purpose,
    feed: &Feed,
    given: &TensorType,
    wants_grad_x: bool,
) -> Result<StageGraph> {
    let mode = Mode {
        training: purpose.training,
        carry_state: false,
    };
    let cx = Context::new(mode, DType::F32)
        .propagation(purpose.propagation)
        .precision(purpose.precision)
        .chunk(purpose.chunk);
    let tracer = cx.tracer();
    tracer.draw_from(0, purpose.streams);
    let x = tracer.input(X, given.dtype, given.shape.clone());
    let plain = x.cast(DType::F32);
    let y = match feed {
        Feed::Sequence => cx.trace(module, plain)?,
        Feed::Encoded(encoder) => cx
            .trace_encoded(module, &**encoder, &plain, purpose.steps)?
            .join(),
        Feed::Constant => {
            let all = [&[purpose.steps], &plain.shape()[1..]].concat();
            cx.trace(module, plain.expand(all))?
        }
    };
    // What is the same at every step is handed on once, and computed on as such.
    let one = y.source_over_time().filter(|_| !purpose.last);
    let (constant, y) = (one.is_some(), one.unwrap_or(y));
    let y = match purpose.stores {
        Some(dtype) => y.cast(dtype),
        None => y,
    };
    tracer.output(Y, &y);
    let output = y.ty().clone();
    let states = cx.chunk_states();
    let traced = cx.traced();
    let handed_on = states.iter().filter(|_| !purpose.chunk.ends);
    let handed_on: Vec<(&str, &Var)> = handed_on
        .filter_map(|state| Some((state.path.as_str(), state.after.as_ref()?)))
        .collect();
    for (path, after) in &handed_on {
        tracer.output(&format!("{AFTER}{path}"), after);
    }
    if purpose.training {
        let mut given = vec![(&y, tracer.input(GRAD_Y, output.dtype, output.shape.clone()))];
        for (path, after) in &handed_on {
            let name = format!("{GRAD_AFTER}{path}");
            given.push((after, tracer.input(&name, after.ty().dtype, after.shape())));
        }
        let weights: Vec<(String, Var)> = (traced.parameters.iter())
            .filter_map(|p| Some((sum_name(&p.name), tracer.find_input(&p.name)?)))
            .collect();
        let mut others = vec![];
        if wants_grad_x {
            others.push((GRAD_X.to_string(), x.clone()));
        }
        for state in states.iter().filter(|_| !purpose.chunk.begins) {
            others.push((format!("{GRAD_BEFORE}{}", state.path), state.before.clone()));
        }
        let pairs: Vec<(&Var, &Var)> = given.iter().map(|(v, g)| (*v, g)).collect();
        let operands: Vec<&Var> = weights.iter().chain(&others).map(|(_, v)| v).collect();
        let grads = tracer.gradients_given(&pairs, &operands);
        let (of_weights, of_others) = grads.split_at(weights.len());
        for ((name, weight), grad) in weights.iter().zip(of_weights) {
            let sum = tracer.state(name, weight.shape());
            tracer.update(&sum, &(&sum + grad));
        }
        for ((name, _), grad) in others.iter().zip(of_others) {
            tracer.output(name, grad);
        }
    }
    let streams = tracer.streams();
    Ok(StageGraph {
        graph: tracer.finish()?,
        traced,
        output,
        constant,
        streams,
    })
}

/// The two passes of a training stage.
pub(super) fn halves(graph: Graph, target: &dyn Target) -> Result<ForwardBackwardPlans> {
    let late = |name: &str| name == GRAD_X || is_sum(name) || name.starts_with(GRAD_BEFORE);
    let first = |output: &Output| !late(&output.name);
    Ok(Plan::halves(graph, target, &first)?)
}

/// Refuses parameters of one name in two stages, of which each would train its own.
pub(super) fn check_names(stages: &[Traced]) -> Result<()> {
    let mut seen = std::collections::BTreeMap::new();
    for (k, stage) in stages.iter().enumerate() {
        for TracedTensor { name, .. } in &stage.parameters {
            if let Some(other) = seen.insert(name.clone(), k) {
                return Err(Error::invalid(
                    "pipeline",
                    format!("stages {other} and {k} both have a parameter `{name}`"),
                    "give the modules names of their own, or append them to one stage",
                ));
            }
        }
    }
    Ok(())
}
