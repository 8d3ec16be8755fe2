//! What first was not finite in a step that went wrong.
//!
//! A step whose loss is not finite updates nothing, so that its forward pass can be run again on
//! the batch that it failed on, with the weights that it had. This time every layer shows what goes
//! into it and what its states are; of each only one number a time step is kept.
//!
//! Spikes are finite whatever a potential is: a NaN may spoil weights and never reach the loss.
//! Weights are looked at whenever they are on their way into a checkpoint.

use super::checkpoint::is_finite;
use super::draws::Draws;
use super::memory::check_room;
use super::scaling::not_finite;
use super::step::{context, feed, trace};
use super::{BatchShape, Settings};
use spikelet_core::{Error, Result};
use spikelet_data::Batch;
use spikelet_graph::{DType, Var};
use spikelet_nn::module::{Mode, Module};
use spikelet_nn::runtime::{Planned, Program, VarStore};
use spikelet_nn::tensors::TensorFile;

/// What lowers the memory of the forward pass that is run again.
const LESS: &str = "use a smaller batch (--batch-size), and it is looked for";

/// A step of training that is to be looked at.
pub(super) struct FailedStep<'a> {
    pub(super) module: &'a dyn Module,
    pub(super) settings: &'a Settings,
    pub(super) batch: &'a Batch,
    pub(super) shape: BatchShape,
    pub(super) draws: Draws,
}

/// What was not finite, and since which time step, counted from 1.
#[derive(Clone, Debug, PartialEq)]
struct Finding {
    what: String,
    time_step: usize,
}

impl FailedStep<'_> {
    /// The error of a step: its `problem`, and where it began if that can be found.
    pub(super) fn error(&self, problem: &str, store: &mut VarStore) -> Error {
        let began = match self.first_not_finite(store) {
            Ok(Some(Finding { what, time_step })) => {
                let all = self.settings.time_steps;
                format!("; not finite first: {what}, at time step {time_step} of {all}")
            }
            Ok(None) => "; with the present weights all layers are finite".to_string(),
            Err(error) => format!("; where it began cannot be found: {error}"),
        };
        Error::invalid(
            "training",
            format!("{problem}{began}"),
            "lower the learning rate, clip the gradients, or use a neuron whose potential cannot run away",
        )
    }

    /// Runs the forward pass again.
    fn first_not_finite(&self, store: &mut VarStore) -> Result<Option<Finding>> {
        let cx = context(Mode::TRAIN, self.settings).watching();
        let scored = trace(&cx, self.module, self.settings, self.shape)?;
        let traced = cx.traced();
        cx.record("output_seq", &scored.output.join());
        let mut shown = vec![];
        for (k, (path, value)) in cx.traced().recorded.iter().enumerate() {
            let name = format!("recorded {k}");
            cx.tracer().output(&name, &count(value));
            shown.push((name, path.clone()));
        }
        let device = store.backend().clone();
        let planned = Planned::within(cx.tracer().finish()?, &*device, None, 0)?;
        // It comes on top of the run's peak: a run that ends with an error must not be killed first.
        let program = "another forward pass";
        check_room(program, &[&planned.plan], &*device, Some(store), LESS)?;
        store.initialize(&traced, DType::F32, self.settings.seed)?;
        let mut program = Program::load(planned, store)?;
        feed(&program, self.batch, self.draws)?;
        program.run()?;
        let mut first: Option<Finding> = None;
        for (name, path) in shown {
            let steps = program.get(&name)?.to_f64();
            let Some(t) = steps.iter().position(|s| *s != 0.0) else {
                continue;
            };
            if first.as_ref().is_none_or(|f| t + 1 < f.time_step) {
                first = Some(Finding {
                    what: described(&path),
                    time_step: t + 1,
                });
            }
        }
        Ok(first)
    }
}

/// How many elements of each time step of `[T, …]` are not finite.
fn count(value: &Var) -> Var {
    let others: Vec<usize> = (1..value.rank()).collect();
    value.map1(not_finite).sum(&others)
}

/// What a recorded value is, in words.
fn described(path: &str) -> String {
    let (layer, name) = path.rsplit_once('.').unwrap_or(("", path));
    let what = match name {
        "x_seq" => "the input of".to_string(),
        "v_seq" => "the potential of".to_string(),
        "spike_seq" => "the spikes of".to_string(),
        "output_seq" => return "the network's output".to_string(),
        state => format!("the state `{}` of", state.trim_end_matches("_seq")),
    };
    format!("{what} layer `{layer}`")
}

/// Refuses weights, and optimizer tensors, that are not finite: a checkpoint with them could not be
/// read.
///
/// # Errors
/// Names them; training went wrong somewhere before `step`.
pub(super) fn check_weights(tensors: &TensorFile, step: u64) -> Result<()> {
    let spoiled = tensors.tensors.iter().filter(|(_, t)| !is_finite(t));
    let spoiled: Vec<&str> = spoiled.map(|(name, _)| name.as_str()).collect();
    let Some(last) = spoiled.last() else {
        return Ok(());
    };
    Err(Error::invalid(
        "training",
        format!(
            "after step {step} weights are not finite: {}; a gradient was not finite at or behind `{last}`, \
             though the loss was: spikes are finite whatever a potential is",
            spoiled.join(", ")
        ),
        "lower the learning rate, clip the gradients, or use a neuron whose potential cannot run away",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_named_by_its_layer() {
        let cases = [
            ("fc.2.v_seq", "the potential of layer `fc.2`"),
            ("fc.2.w_seq", "the state `w` of layer `fc.2`"),
            ("0.x_seq", "the input of layer `0`"),
            ("output_seq", "the network's output"),
        ];
        for (path, expected) in cases {
            assert_eq!(described(path), expected);
        }
    }
}
