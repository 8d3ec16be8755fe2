//! The plans of all stages.

use super::batch_split::BatchSplit;
use super::stage::{self, Feed, StageOptions};
use spikelet_core::Result;
use spikelet_graph::{Backend, DType, Plan, TensorType};
use spikelet_nn::module::{Chunk, Module, Precision, Propagation, Traced};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The options with which all stages are traced.
#[derive(Clone)]
pub(super) struct TraceOptions {
    pub(super) training: bool,
    pub(super) precision: Precision,
    pub(super) propagation: Propagation,
    pub(super) feed: Feed,
    /// The shape of the input without the axes T and N.
    pub(super) shape: Vec<usize>,
}

/// The plans of a stage for one position of the chunk.
pub(super) struct Passes {
    pub(super) forward: Plan,
    pub(super) backward: Option<Plan>,
}

/// The plans of a stage for micro-batches of one size.
pub(super) struct StagePlans {
    /// By whether the chunk is the first one, and whether it is the last one.
    pub(super) passes: BTreeMap<(bool, bool), Passes>,
}

/// The plans of the stages for micro-batches of one size.
pub(super) struct Planned {
    pub(super) stages: Vec<StagePlans>,
    pub(super) traced: Vec<Traced>,
    /// The output of the last stage for one chunk.
    pub(super) output: TensorType,
    /// The size of the output of each stage in bytes.
    pub(super) output_bytes: Vec<usize>,
}

/// The data type of sequences between stages, if it is not f32.
fn stored(precision: Precision) -> Option<DType> {
    match precision {
        Precision::Bf16 => Some(DType::BF16),
        Precision::F16 => Some(DType::F16),
        _ => None,
    }
}

/// Plans all stages for micro-batches of `size` images.
pub(super) fn plan(
    modules: &[Arc<dyn Module>],
    backends: &[Arc<dyn Backend>],
    trace_options: &TraceOptions,
    batch_split: &BatchSplit,
    size: usize,
) -> Result<Planned> {
    let axes = match trace_options.feed {
        Feed::Sequence => vec![batch_split.steps, size],
        Feed::Encoded(_) => vec![size],
        Feed::Constant => vec![1, size],
    };
    let mut given = TensorType::new(DType::F32, [axes, trace_options.shape.clone()].concat());
    let mut streams = 0;
    let mut feed = trace_options.feed.clone();
    let mut planned = Planned {
        stages: vec![],
        traced: vec![],
        output: given.clone(),
        output_bytes: vec![],
    };
    for (k, (module, backend)) in modules.iter().zip(backends).enumerate() {
        let (first, last) = (k == 0, k + 1 == modules.len());
        let mut passes = BTreeMap::new();
        let mut found = None;
        for position in batch_split.positions() {
            let (begins, ends) = position;
            let stage_options = StageOptions {
                training: trace_options.training,
                precision: trace_options.precision,
                propagation: trace_options.propagation,
                chunk: Chunk { begins, ends },
                steps: batch_split.steps,
                stores: stored(trace_options.precision).filter(|_| !last),
                last,
                streams,
            };
            let made = stage::trace(&**module, &stage_options, &feed, &given, !first)?;
            let plans = if trace_options.training {
                let split = stage::forward_backward_plans(made.graph, &**backend)?;
                Passes {
                    forward: split.forward,
                    backward: Some(split.backward),
                }
            } else {
                Passes {
                    forward: Plan::new(made.graph, &**backend),
                    backward: None,
                }
            };
            passes.insert(position, plans);
            found = Some((made.traced, made.output, made.constant, made.streams));
        }
        if let Some((traced, output, constant, drawn)) = found {
            feed = if constant {
                Feed::Constant
            } else {
                Feed::Sequence
            };
            planned.traced.push(traced);
            planned.output_bytes.push(output.bytes());
            planned.output = output.clone();
            given = output;
            streams = drawn;
        }
        planned.stages.push(StagePlans { passes });
    }
    stage::check_names(&planned.traced)?;
    Ok(planned)
}
