//! Planned programs of a step. Nothing is allocated yet.

use super::error::StepError;
use super::groups::Assignment;
use super::trace::{Averages, Phase, Purpose, TraceInfo, is_given};
use super::{EvalStep, Layout, RankInfo, Step, TrainStep};
use crate::free_memory::{LESS_FOR_EVALUATION, check_memory};
use crate::scaling::LossScale;
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::{Backend, DType, Plan, Target, TensorType};
use spikelet_nn::module::{Mode, Trace};
use spikelet_nn::runtime::{TracePlan, VarStore};
use std::fmt;
use std::sync::Arc;

/// Facts about a step that all of its programs share.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) samples: usize,
    pub(super) seed: u64,
    pub(super) rank: RankInfo,
    /// The inputs that are read.
    pub(super) inputs: Vec<GivenInput>,
    /// The time steps of a run: the length of the sequences.
    pub(super) time_steps: usize,
}

/// An input of a program.
#[derive(Clone)]
pub(super) struct GivenInput {
    pub(super) name: Arc<str>,
    pub(super) ty: TensorType,
    /// Whether it must be set at each run.
    pub(super) required: bool,
}

/// A traced forward pass, to which outputs can be added.
pub(crate) struct ForwardTrace {
    pub(crate) cx: Trace,
    pub(super) common: Common,
}

/// A planned training step.
pub struct StepPlan {
    pub(super) update: TracePlan,
    /// The program of all batches but the last before an update, if gradients are accumulated.
    pub(super) accumulate: Option<TracePlan>,
    pub(super) accumulated: usize,
    pub(super) common: Common,
    pub(super) info: TraceInfo,
    pub(super) assignment: Assignment,
    pub(super) averages: Averages,
    scales_loss: bool,
}

/// A planned forward pass: an evaluation or a prediction.
pub struct EvalPlan {
    pub(super) trace: TracePlan,
    pub(super) common: Common,
    pub(super) info: TraceInfo,
}

impl Step<'_> {
    /// The declared steps of the longest sequence.
    pub(super) fn time_steps(&self) -> usize {
        let sequences = self.inputs.iter().filter(|i| i.layout == Layout::Sequence);
        let lengths = sequences.filter_map(|i| i.shape.first().copied());
        lengths.max().unwrap_or(1)
    }

    pub(super) fn common(&self, cx: &Trace) -> Common {
        let read = self.inputs.iter().filter_map(|input| {
            let var = cx.tracer().find_input(&input.name)?;
            Some(GivenInput {
                name: Arc::from(&*input.name),
                ty: var.ty().clone(),
                required: is_given(input.layout),
            })
        });
        let sequences = self.inputs.iter().filter(|i| i.layout == Layout::Sequence);
        let lengths =
            sequences.filter_map(|i| cx.tracer().find_input(&i.name)?.shape().first().copied());
        Common {
            time_steps: lengths.max().unwrap_or(1),
            samples: self.samples(),
            seed: self.seed_of(),
            rank: self.rank,
            inputs: read.collect(),
        }
    }

    /// Plans the training step with `others` bytes of the memory budget reserved for other programs.
    pub(crate) fn plan_beside(&self, target: &dyn Target, others: usize) -> Result<StepPlan> {
        let (cx, info, assignment, averages) = self.trace_training(Phase::Update)?;
        let update = cx.plan(target, self.memory_budget, others)?;
        let accumulate = match self.accumulated() {
            1 => None,
            _ => {
                let (cx, ..) = self.trace_training(Phase::Accumulate)?;
                Some(cx.plan(target, self.memory_budget, others)?)
            }
        };
        Ok(StepPlan {
            update,
            accumulate,
            accumulated: self.accumulated(),
            common: self.common(&cx),
            info,
            assignment,
            averages,
            scales_loss: self.scales_loss(),
        })
    }

    /// Plans a forward pass.
    pub(crate) fn plan_forward(
        &self,
        purpose: Purpose,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
    ) -> Result<EvalPlan> {
        let (cx, info) = self.trace_forward(purpose, false)?;
        let read = info.outputs.len() + info.recorded.values.len();
        if [Purpose::PREDICT, Purpose::STREAM].contains(&purpose) && read == 0 {
            return Err(StepError::NoOutputs.into());
        }
        if purpose.learns && cx.traced().plastic.is_empty() {
            return Err(StepError::NothingLearns.into());
        }
        Ok(EvalPlan {
            trace: cx.plan(target, budget, 0)?,
            common: self.common(&cx),
            info,
        })
    }

    /// Traces the forward pass of training, in which neurons record their inputs and states.
    pub(crate) fn trace_watching(&self) -> Result<ForwardTrace> {
        self.forward_trace(Purpose::of(Mode::TRAIN), true)
    }

    /// Traces the forward pass of training.
    pub(crate) fn trace_training_pass(&self) -> Result<ForwardTrace> {
        self.forward_trace(Purpose::of(Mode::TRAIN), false)
    }

    /// Traces an evaluation.
    pub(crate) fn trace_evaluation(&self) -> Result<ForwardTrace> {
        self.forward_trace(Purpose::EVALUATE, false)
    }

    fn forward_trace(&self, purpose: Purpose, watching: bool) -> Result<ForwardTrace> {
        let cx = self.trace_forward(purpose, watching)?.0;
        let common = self.common(&cx);
        Ok(ForwardTrace { cx, common })
    }
}

impl StepPlan {
    /// The plan of the program that updates the parameters.
    pub fn plan(&self) -> &Plan {
        self.update.plan()
    }

    /// Whether averages of the weights are kept.
    pub(crate) fn averages(&self) -> bool {
        !self.averages.is_empty()
    }

    /// The plans of all programs.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        [&self.update]
            .into_iter()
            .chain(&self.accumulate)
            .map(TracePlan::plan)
    }

    /// Loads the step on the store's device, which it must be planned for. Parameters that the store
    /// does not have are initialized.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn load(self, store: &mut VarStore) -> Result<TrainStep> {
        if self.scales_loss {
            LossScale::initialize(store)?;
        }
        store.initialize(self.update.traced(), DType::F32, self.common.seed)?;
        for (average, tensor) in &self.averages {
            if store.ty(average).is_none() {
                store.insert(average, &store.get(tensor)?)?;
            }
        }
        TrainStep::of_plan(self, store)
    }
}

impl EvalPlan {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.trace.plan()
    }

    /// Checks that a device has kernels and memory for the pass.
    ///
    /// # Errors
    /// [`Error::Memory`](spikelet_core::Error::Memory), or the error of an unsupported operation.
    pub fn check(&self, device: &dyn Backend) -> Result<()> {
        self.plan().check_target(device)?;
        let program = format!("a forward pass of {} samples", self.common.samples);
        check_memory(&program, &[self.plan()], device, None, LESS_FOR_EVALUATION)
    }

    /// Loads the pass on the store's device, which it must be planned for.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn load(self, store: &mut VarStore) -> Result<EvalStep> {
        EvalStep::load(self, store)
    }
}

impl fmt::Debug for StepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepPlan")
            .field("update", &self.update)
            .field("batch_size", &self.common.samples)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EvalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalPlan")
            .field("trace", &self.trace)
            .field("batch_size", &self.common.samples)
            .finish_non_exhaustive()
    }
}
