//! A forward pass over a batch, with its loss and its number of correct images.

use super::draws::Draws;
use super::memory::{LESS_FOR_EVALUATION, check_memory};
use super::step::{PendingMetrics, StepMetrics, context, feed, trace};
use super::{BatchShape, Settings};
use spikelet_core::MemoryBudget;
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::{Backend, Plan, Target};
use spikelet_nn::loss;
use spikelet_nn::module::{Mode, Module};
use spikelet_nn::runtime::{Program, TracePlan, VarStore};
use std::fmt;

/// A compiled forward pass.
pub struct EvalStep {
    program: Program,
    batch_size: usize,
    scores: usize,
    seed: u64,
}

/// A planned forward pass. Nothing is allocated yet.
pub struct EvalPlan {
    trace: TracePlan,
    batch_size: usize,
    scores: usize,
    seed: u64,
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
        let program = format!("a forward pass of {} images", self.batch_size);
        check_memory(&program, &[self.plan()], device, None, LESS_FOR_EVALUATION)
    }

    /// Loads the pass on the store's device, which it must be planned for.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn load(self, store: &mut VarStore) -> Result<EvalStep> {
        Ok(EvalStep {
            program: self.trace.load(store, self.seed)?,
            scores: self.scores,
            batch_size: self.batch_size,
            seed: self.seed,
        })
    }
}

impl EvalStep {
    /// Compiles a forward pass. With `sequence`, the network's output at every step is an output of the program. A
    /// memory budget in bytes is applied; one that is a share refers to the memory of training and is ignored.
    ///
    /// # Errors
    /// When shapes do not match, the budget is too small, or the device has not enough memory.
    pub fn new(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        sequence: bool,
        store: &mut VarStore,
    ) -> Result<Self> {
        Self::plan(module, settings, shape, sequence, &**store.backend())?.load(store)
    }

    /// Plans the forward pass of [`EvalStep::new`]. Nothing is allocated.
    ///
    /// # Errors
    /// When shapes do not match or the budget is too small.
    pub fn plan(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        sequence: bool,
        target: &dyn Target,
    ) -> Result<EvalPlan> {
        let bytes = (settings.memory_budget).filter(|b| matches!(b, MemoryBudget::Bytes(_)));
        Self::plan_within(module, settings, shape, sequence, target, bytes)
    }

    /// The same with another budget.
    pub(super) fn plan_within(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        sequence: bool,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
    ) -> Result<EvalPlan> {
        let cx = context(Mode::EVAL, settings);
        let scored = trace(&cx, module, settings, shape)?;
        let tracer = cx.tracer();
        let loss = settings.apply_loss(&scored.output, &scored.scores, &scored.labels);
        tracer.output("loss", &loss);
        tracer.output("correct", &loss::correct(&scored.scores, &scored.labels));
        if sequence {
            tracer.output("output_seq", &scored.output.join());
            tracer.output("scores", &scored.scores);
        }
        Ok(EvalPlan {
            trace: cx.plan(target, budget, 0)?,
            scores: scored.scores.dim(1),
            batch_size: shape.batch,
            seed: settings.seed,
        })
    }

    /// The number of images of a batch.
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// The number of scores that the network has for each image.
    pub fn scores(&self) -> usize {
        self.scores
    }

    /// The compiled program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Starts to evaluate a batch whose first image has the index `first` in the data set. Random numbers depend
    /// only on the seed and the indices of the images.
    ///
    /// # Errors
    /// When the batch has another size than the step, or the device fails.
    pub fn start(&mut self, batch: &Batch, first: usize) -> Result<PendingMetrics> {
        feed(
            &self.program,
            batch,
            Draws::for_evaluation(self.seed, first),
        )?;
        self.program.run()?;
        PendingMetrics::new(&self.program)
    }

    /// Evaluates a batch whose first image has the index `first` in the data set.
    ///
    /// # Errors
    /// As [`EvalStep::start`].
    pub fn run(&mut self, batch: &Batch, first: usize) -> Result<StepMetrics> {
        self.start(batch, first)?.wait()
    }
}

impl fmt::Debug for EvalStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalStep")
            .field("program", &self.program)
            .field("batch_size", &self.batch_size)
            .field("scores", &self.scores)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EvalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalPlan")
            .field("trace", &self.trace)
            .field("batch_size", &self.batch_size)
            .field("scores", &self.scores)
            .finish_non_exhaustive()
    }
}
