//! The graphs of a stage.
//!
//! | program | reads | writes |
//! |---|---|---|
//! | forward | `x`, final states of the previous chunk | `y`, final states, tensors saved for the backward pass |
//! | backward | saved tensors, `grad_y`, gradients of the final states | `grad_x`, gradients of the initial states; adds to `sum of …` |
//! | update | `sum of …`, optimizer tensors | parameters; clears `sum of …` |

use super::error::PipelineError;
use spikelet_core::Result;
use spikelet_graph::{DType, ForwardBackwardPlans, Graph, Output, Plan, Target, TensorType, Var};
use spikelet_nn::encoder::Encoder;
use spikelet_nn::module::{
    BEFORE, Chunk, Context, Mode, Module, Precision, Propagation, Traced, TracedTensor,
};
use std::sync::Arc;

/// The input of a stage.
pub(super) const X: &str = "x";
/// The output of a stage.
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

/// Whether this is the name of such a sum, which exists during one step only.
pub(super) fn is_sum(name: &str) -> bool {
    name.starts_with(SUM)
}

/// A tensor of a neighboring chunk.
pub(super) enum Neighbor {
    /// The tensor of this name of the previous chunk.
    Previous(String),
    /// The tensor of this name of the next chunk.
    Next(String),
}

/// The tensor of another chunk that is read under this name, if it is one: the initial state of a chunk,
/// or the gradient of its final state.
pub(super) fn neighbor(name: &str) -> Option<Neighbor> {
    let state = name.strip_prefix(BEFORE);
    let grad = name.strip_prefix(GRAD_AFTER);
    state
        .map(|path| Neighbor::Previous(format!("{AFTER}{path}")))
        .or(grad.map(|path| Neighbor::Next(format!("{GRAD_BEFORE}{path}"))))
}

/// The input of the first stage.
#[derive(Clone)]
pub(super) enum Feed {
    /// A sequence `[T, N, …]`.
    Sequence,
    /// `[N, …]`, which an encoder converts into a sequence.
    Encoded(Arc<dyn Encoder>),
    /// One time step `[1, N, …]`, the same for all.
    Constant,
}

/// The options with which a stage is traced.
#[derive(Clone)]
pub(super) struct StageOptions {
    pub(super) training: bool,
    pub(super) precision: Precision,
    pub(super) propagation: Propagation,
    /// The position of the chunk in the sequence.
    pub(super) chunk: Chunk,
    /// The number of time steps of the chunk.
    pub(super) steps: usize,
    /// The data type in which the output is stored, if it is not that of the computation.
    pub(super) stores: Option<DType>,
    /// Whether this is the last stage.
    pub(super) last: bool,
    /// The number of random streams of the earlier stages.
    pub(super) streams: u32,
}

/// A traced stage.
pub(super) struct StageGraph {
    pub(super) graph: Graph,
    pub(super) traced: Traced,
    pub(super) output: TensorType,
    /// Whether the output is one time step, the same for all.
    pub(super) constant: bool,
    /// The number of random streams of the stages up to this one.
    pub(super) streams: u32,
}

/// Traces a stage for the input `given`: `[T, N, …]`, or `[N, …]` for an encoder. With `wants_grad_x` the
/// backward pass computes the gradient of the input.
pub(super) fn trace(
    module: &dyn Module,
    stage_options: &StageOptions,
    feed: &Feed,
    given: &TensorType,
    wants_grad_x: bool,
) -> Result<StageGraph> {
    let mode = Mode {
        training: stage_options.training,
        carry_state: false,
    };
    let cx = Context::new(mode, DType::F32)
        .propagation(stage_options.propagation)
        .precision(stage_options.precision)
        .chunk(stage_options.chunk);
    let tracer = cx.tracer();
    tracer.set_streams(stage_options.streams);
    let x = tracer.input(X, given.dtype, given.shape.clone());
    let plain = x.cast(DType::F32);
    let y = match feed {
        Feed::Sequence => cx.trace(module, plain)?,
        Feed::Encoded(encoder) => cx
            .trace_encoded(module, &**encoder, &plain, stage_options.steps)?
            .join(),
        Feed::Constant => {
            let all = [&[stage_options.steps], &plain.shape()[1..]].concat();
            cx.trace(module, plain.expand(all))?
        }
    };
    // An output that is the same at all time steps is transferred once.
    let one = y.source_over_time().filter(|_| !stage_options.last);
    let (constant, y) = (one.is_some(), one.unwrap_or(y));
    let y = match stage_options.stores {
        Some(dtype) => y.cast(dtype),
        None => y,
    };
    tracer.output(Y, &y);
    let output = y.ty().clone();
    let states = cx.chunk_states();
    let traced = cx.traced();
    let carried = states.iter().filter(|_| !stage_options.chunk.ends);
    let carried: Vec<(&str, &Var)> = carried
        .filter_map(|state| Some((state.path.as_str(), state.after.as_ref()?)))
        .collect();
    for (path, after) in &carried {
        tracer.output(&format!("{AFTER}{path}"), after);
    }
    if stage_options.training {
        let mut given = vec![(&y, tracer.input(GRAD_Y, output.dtype, output.shape.clone()))];
        for (path, after) in &carried {
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
        for state in states.iter().filter(|_| !stage_options.chunk.begins) {
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
pub(super) fn forward_backward_plans(
    graph: Graph,
    target: &dyn Target,
) -> Result<ForwardBackwardPlans> {
    let late = |name: &str| name == GRAD_X || is_sum(name) || name.starts_with(GRAD_BEFORE);
    let first = |output: &Output| !late(&output.name);
    Ok(Plan::forward_backward(graph, target, &first)?)
}

/// Checks that no two stages have parameters of the same name, which would be trained separately.
pub(super) fn check_names(stages: &[Traced]) -> Result<()> {
    let mut seen = std::collections::BTreeMap::new();
    for (k, stage) in stages.iter().enumerate() {
        for TracedTensor { name, .. } in &stage.parameters {
            if let Some(other) = seen.insert(name.clone(), k) {
                let (name, stages) = (name.clone(), [other, k]);
                return Err(PipelineError::DuplicateParameter { name, stages }.into());
            }
        }
    }
    Ok(())
}
