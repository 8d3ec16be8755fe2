//! A step's programs: what is planned and compiled from its function.

use super::trace::Purpose;
use super::{EvalPlan, EvalStep, Step, StepPlan, TrainStep};
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::Target;
use spikelet_nn::runtime::VarStore;

impl Step<'_> {
    /// Compiles the training step for the store's device. Parameters that the store does not have are initialized.
    ///
    /// # Errors
    /// [`StepError`](crate::StepError) for a definition that is not valid; when shapes do not match or memory is short.
    pub fn compile(&self, store: &mut VarStore) -> Result<TrainStep> {
        self.plan(&**store.backend())?.load(store)
    }

    /// Plans the training step for a device. Nothing is allocated.
    ///
    /// # Errors
    /// As [`Step::compile`].
    pub fn plan(&self, target: &dyn Target) -> Result<StepPlan> {
        self.plan_beside(target, 0)
    }

    /// Plans the evaluation for a device. Nothing is allocated.
    ///
    /// # Errors
    /// As [`Step::compile`].
    pub fn plan_eval(&self, target: &dyn Target) -> Result<EvalPlan> {
        self.plan_forward(Purpose::EVALUATE, target, self.bytes_of_budget())
    }

    /// Compiles the evaluation: loss, metrics and outputs of a batch with the current weights.
    ///
    /// # Errors
    /// As [`Step::compile`].
    pub fn compile_eval(&self, store: &mut VarStore) -> Result<EvalStep> {
        self.plan_eval(&**store.backend())?.load(store)
    }

    /// Compiles a prediction: the outputs, from the inputs that they depend on. Labels and targets are not needed.
    ///
    /// # Errors
    /// As [`Step::compile`].
    pub fn compile_predict(&self, store: &mut VarStore) -> Result<EvalStep> {
        self.plan_forward(Purpose::PREDICT, &**store.backend(), self.bytes_of_budget())?
            .load(store)
    }

    /// Compiles a prediction that is run time step by time step: sequences have a single step, and states are
    /// carried from run to run. [`EvalStep::reset`] begins a new sequence.
    ///
    /// # Errors
    /// As [`Step::compile`].
    pub fn compile_stream(&self, store: &mut VarStore) -> Result<EvalStep> {
        self.plan_forward(Purpose::STREAM, &**store.backend(), self.bytes_of_budget())?
            .load(store)
    }

    /// As [`Step::compile_stream`], while the weights of [plastic layers](spikelet_nn::learning::Plastic) that change in each
    /// step do so: they are tensors of the store. All other layers are those of evaluations. With `normalize` the weights are
    /// scaled before the first step, and then whenever as many steps have run as a sequence has.
    ///
    /// # Errors
    /// As [`Step::compile`]; [`StepError::NothingLearns`](crate::StepError::NothingLearns) without such a layer.
    pub fn compile_learning_stream(&self, store: &mut VarStore) -> Result<EvalStep> {
        self.plan_forward(Purpose::LEARN, &**store.backend(), self.bytes_of_budget())?
            .load(store)
    }

    /// The budget of a program other than the training step: a fraction refers to training.
    pub(crate) fn bytes_of_budget(&self) -> Option<MemoryBudget> {
        self.memory_budget
            .filter(|budget| matches!(budget, MemoryBudget::Bytes(_)))
    }
}
