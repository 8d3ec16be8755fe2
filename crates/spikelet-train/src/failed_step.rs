//! The search for the first value that is not finite in a step that diverged.
//!
//! A step whose loss is not finite does not update the weights, so that its forward pass can be run again on the
//! same batch with the same weights. In this pass every neuron records its input and its states;
//! each is reduced to one element per time step.
//!
//! Spikes are finite for any potential: a NaN can reach the weights and never the loss. Weights are
//! therefore checked before each checkpoint.

use super::TrainError;
use super::checkpoint::is_finite;
use super::draws::Draws;
use super::error::{NotFinite, Origin};
use super::free_memory::check_memory;
use super::scaling::not_finite;
use super::step::{Step, feed};
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::Var;
use spikelet_nn::runtime::VarStore;
use spikelet_nn::tensors::TensorFile;

/// How to lower the memory of the second forward pass.
const LESS: &str = "use a smaller batch (--batch-size) to find the origin";

/// The first value that is not finite in the forward pass of `step`, run again on `batch`.
///
/// # Errors
/// When the device has not enough memory or fails.
pub(super) fn origin(
    step: &Step<'_>,
    batch: &Batch,
    draws: Draws,
    store: &mut VarStore,
) -> Result<Origin> {
    let trace = step.trace_watching()?;
    let cx = &trace.cx;
    let mut recorded = vec![];
    for (k, (path, value)) in cx.traced().recorded.iter().enumerate() {
        let name = format!("recorded {k}");
        cx.tracer().output(&name, &count(value));
        recorded.push((name, path.clone()));
    }
    let device = store.backend().clone();
    let plan = cx.plan(&*device, None, 0)?;
    // It adds to the peak of the run: a run that ends with an error must not be killed for its memory.
    let program = "another forward pass";
    check_memory(program, &[plan.plan()], &*device, Some(store), LESS)?;
    let mut program = plan.load(store, step.seed_of())?;
    feed(&trace, &program, batch, draws)?;
    program.run()?;
    let mut first: Option<NotFinite> = None;
    for (name, path) in recorded {
        let steps = program.get(&name)?.to_f64();
        let Some(t) = steps.iter().position(|s| *s != 0.0) else {
            continue;
        };
        if first.as_ref().is_none_or(|f| t + 1 < f.time_step) {
            first = Some(NotFinite::new(&path, t + 1, steps.len()));
        }
    }
    Ok(first.map_or(Origin::AllFinite, Origin::Found))
}

/// The number of elements that are not finite, for each time step of `[T, …]`.
fn count(value: &Var) -> Var {
    let others: Vec<usize> = (1..value.rank()).collect();
    value.map1(not_finite).sum(&others)
}

/// Checks that weights and optimizer tensors are finite: otherwise the checkpoint could not be read.
///
/// # Errors
/// [`TrainError::WeightsNotFinite`].
pub(super) fn check_weights(tensors: &TensorFile, step: u64) -> Result<()> {
    let spoiled = tensors.tensors.iter().filter(|(_, t)| !is_finite(t));
    let tensors: Vec<String> = spoiled.map(|(name, _)| name.clone()).collect();
    match tensors.is_empty() {
        true => Ok(()),
        false => Err(TrainError::WeightsNotFinite { step, tensors }.into()),
    }
}
