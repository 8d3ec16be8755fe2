//! A compiled forward pass: an evaluation, a prediction, or a stream of single time steps.

use super::compiled_train::{check_known, set_inputs};
use super::input_values::InputValues;
use super::metrics::{MetricSet, PendingMetrics, StepMetrics};
use super::plan::{Common, EvalPlan};
use super::trace::{TraceInfo, activation_name};
use crate::draws::Draws;
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{DType, Tensor, TensorType};
use spikelet_nn::module::{GENERATOR, TracedTensors};
use spikelet_nn::runtime::{Program, VarStore};
use std::fmt;

/// A compiled forward pass of a [`Step`](super::Step).
pub struct EvalStep {
    program: Program,
    pub(super) common: Common,
    pub(super) info: TraceInfo,
    tensors: TracedTensors,
    /// The number of time steps before the next run, if states are carried from run to run.
    time: usize,
}

impl EvalStep {
    pub(super) fn load(plan: EvalPlan, store: &mut VarStore) -> Result<Self> {
        Ok(Self {
            tensors: plan.trace.traced().tensors(),
            program: plan.trace.load(store, plan.common.seed)?,
            common: plan.common,
            info: plan.info,
            time: 0,
        })
    }

    /// The compiled program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The number of samples of a batch.
    pub fn batch_size(&self) -> usize {
        self.common.samples
    }

    /// The metrics of the step.
    pub fn metrics(&self) -> &MetricSet {
        &self.info.metrics
    }

    /// The names of the outputs of the step's function.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.info.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// The paths of the readable values of layers; see
    /// [`Step::read_activations`](super::Step::read_activations).
    pub fn activations(&self) -> impl Iterator<Item = &str> {
        self.info.activations.iter().map(String::as_str)
    }

    /// The type of an output of the step's function; `None` if it has none of this name.
    pub fn output_type(&self, name: &str) -> Option<&TensorType> {
        let mut outputs = self.info.outputs.iter();
        outputs.find_map(|(other, ty)| (other == name).then_some(ty))
    }

    /// Starts to run a batch whose first sample has the index `first` in the data set. Random numbers depend only on
    /// the seed and the indices of the samples. The device may still be running when this returns.
    ///
    /// # Errors
    /// When an input is missing or has another type or size, or the device fails.
    pub fn start(&mut self, values: impl InputValues, first: usize) -> Result<PendingMetrics> {
        self.launch(values, first)?;
        PendingMetrics::fetch(&self.program, self.common.samples, &self.info.metrics)
    }

    /// Runs a batch, the first of a data set. The loss of a prediction is not computed: use [`EvalStep::predict`].
    ///
    /// # Errors
    /// As [`EvalStep::start`].
    pub fn run(&mut self, values: impl InputValues) -> Result<StepMetrics> {
        self.start(values, 0)?.wait()
    }

    /// Runs a batch without reading loss and metrics; [`EvalStep::output`] returns its outputs.
    ///
    /// # Errors
    /// As [`EvalStep::start`].
    pub fn predict(&mut self, values: impl InputValues) -> Result<()> {
        self.launch(values, 0)
    }

    pub(super) fn launch(&mut self, values: impl InputValues, first: usize) -> Result<()> {
        set_inputs(&self.program, &self.common.inputs, values)?;
        if self.program.has_input(GENERATOR) {
            let draws = Draws::for_evaluation(self.common.seed, first).behind(self.time, 0);
            let state = draws.state();
            self.program.set(GENERATOR, HostTensor::I64(&state))?;
        }
        self.program.run()?;
        if !self.tensors.states.is_empty() {
            self.time += self.common.time_steps;
        }
        Ok(())
    }

    /// Begins a new sequence: resets the states that are carried from run to run.
    ///
    /// # Errors
    /// When the device fails.
    pub fn reset(&mut self, store: &mut VarStore) -> Result<()> {
        self.time = 0;
        store.reset_states(&self.tensors.states, &self.tensors.starts, DType::F32)
    }

    /// An output of the step's function in the last run.
    ///
    /// # Errors
    /// When there is no output of this name, or the program has not run yet.
    pub fn output(&self, name: &str) -> Result<Tensor> {
        self.program.get(name)
    }

    /// A recorded value of a layer in the last run; see
    /// [`Step::read_activations`](super::Step::read_activations).
    ///
    /// # Errors
    /// When it is not readable, or the program has not run yet.
    pub fn activation(&self, path: &str) -> Result<Tensor> {
        check_known("readable activation", path, &self.info.activations)?;
        self.program.get(&activation_name(path))
    }
}

impl fmt::Debug for EvalStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalStep")
            .field("program", &self.program)
            .field("batch_size", &self.common.samples)
            .field("outputs", &self.info.outputs)
            .finish_non_exhaustive()
    }
}
