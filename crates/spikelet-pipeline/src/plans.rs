//! From modules to the plans of all stages.

use super::config::Cutting;
use super::flow::{Passes, StagePlans};
use super::stage::{self, Feed, Purpose};
use spikelet_core::Result;
use spikelet_graph::{Backend, DType, Plan, TensorType};
use spikelet_nn::module::{Chunk, Module, Precision, Propagation, Traced};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What all stages are traced for.
#[derive(Clone)]
pub(super) struct Aim {
    pub(super) training: bool,
    pub(super) precision: Precision,
    pub(super) propagation: Propagation,
    pub(super) feed: Feed,
    /// The input's shape behind the axes T and N.
    pub(super) shape: Vec<usize>,
}

/// The stages' plans for micro-batches of one size.
pub(super) struct Planned {
    pub(super) stages: Vec<StagePlans>,
    pub(super) traced: Vec<Traced>,
    /// What a chunk makes of the whole.
    pub(super) output: TensorType,
    /// What each stage hands on, in bytes.
    pub(super) handed_on: Vec<usize>,
}

/// What sequences are stored in on their way.
fn stored(precision: Precision) -> Option<DType> {
    match precision {
        Precision::Bf16 => Some(DType::BF16),
        Precision::F16 => Some(DType::F16),
        _ => None,
    }
}

/// Plans all stages for micro-batches of `size`.
pub(super) fn plan(
    modules: &[Arc<dyn Module>],
    backends: &[Arc<dyn Backend>],
    aim: &Aim,
    cutting: &Cutting,
    size: usize,
) -> Result<Planned> {
    let axes = match aim.feed {
        Feed::Sequence => vec![cutting.steps, size],
        Feed::Encoded(_) => vec![size],
        Feed::Constant => vec![1, size],
    };
    let mut given = TensorType::new(DType::F32, [axes, aim.shape.clone()].concat());
    let mut streams = 0;
    let mut feed = aim.feed.clone();
    let mut planned = Planned {
        stages: vec![],
        traced: vec![],
        output: given.clone(),
        handed_on: vec![],
    };
    for (k, (module, backend)) in modules.iter().zip(backends).enumerate() {
        let (first, last) = (k == 0, k + 1 == modules.len());
        let mut passes = BTreeMap::new();
        let mut found = None;
        for position in cutting.positions() {
            let (begins, ends) = position;
            let purpose = Purpose {
                training: aim.training,
                precision: aim.precision,
                propagation: aim.propagation,
                chunk: Chunk { begins, ends },
                steps: cutting.steps,
                stores: stored(aim.precision).filter(|_| !last),
                last,
                streams,
            };
            let made = stage::trace(&**module, &purpose, &feed, &given, !first)?;
            let plans = match aim.training {
                true => {
                    let halves = stage::halves(made.graph, &**backend)?;
                    Passes {
                        forward: halves.first,
                        backward: Some(halves.second),
                    }
                }
                false => Passes {
                    forward: Plan::new(made.graph, &**backend),
                    backward: None,
                },
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
            planned.handed_on.push(output.bytes());
            planned.output = output.clone();
            given = output;
            streams = drawn;
        }
        planned.stages.push(StagePlans { passes });
    }
    stage::check_names(&planned.traced)?;
    Ok(planned)
}
