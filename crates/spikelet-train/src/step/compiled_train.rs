//! A compiled training step.

use super::error::StepError;
use super::metrics::PendingMetrics;
use super::plan::{Common, GivenInput, StepPlan};
use super::trace::{Averages, TraceInfo, activation_name, gradient_name, group_name};
use super::{InputValues, MetricSet, StepMetrics, groups::Assignment};
use crate::draws::Draws;
use crate::optim::feed_scalars_of;
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{DType, Plan, Tensor};
use spikelet_nn::module::{GENERATOR, TracedTensors};
use spikelet_nn::runtime::{Program, VarStore};
use std::fmt;

/// Forward pass, backward pass and update. A step whose loss is not finite updates no parameter;
/// running statistics follow its batch all the same.
pub struct TrainStep {
    pub(super) update: Program,
    pub(super) accumulate: Option<Program>,
    /// The number of batches before an update.
    accumulated: usize,
    pub(super) common: Common,
    info: TraceInfo,
    assignment: Assignment,
    pub(super) averages: Averages,
    tensors: TracedTensors,
    /// The number of completed updates.
    step: u64,
    /// The number of batches since the last update.
    batch: usize,
    lr_factor: f64,
}

/// Sets the inputs of a program; all required ones must have values.
pub(super) fn set_inputs(
    program: &Program,
    inputs: &[GivenInput],
    values: impl InputValues,
) -> Result<()> {
    let required = inputs.iter().filter(|input| input.required);
    let mut missing: Vec<&str> = required.map(|input| &*input.name).collect();
    values.for_each(&mut |name, values| {
        program.set(name, values)?;
        missing.retain(|other| *other != name);
        Ok(())
    })?;
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.into_iter().map(String::from).collect();
    Err(StepError::MissingInputs { names }.into())
}

/// The error of a name that is not among `known`.
fn unknown(kind: &'static str, name: &str, known: &[String]) -> StepError {
    StepError::Unknown {
        kind,
        name: name.to_string(),
        known: known.to_vec(),
    }
}

/// Checks that a value of this name is computed.
pub(super) fn check_known(kind: &'static str, name: &str, known: &[String]) -> Result<()> {
    match known.iter().any(|other| other == name) {
        true => Ok(()),
        false => Err(unknown(kind, name, known).into()),
    }
}

impl TrainStep {
    pub(super) fn of_plan(plan: StepPlan, store: &mut VarStore) -> Result<Self> {
        // One arena for both programs, the larger one.
        if let Some(largest) = plan.plans().max_by_key(|plan| plan.arena_bytes) {
            store.arena(largest)?;
        }
        let seed = plan.common.seed;
        let accumulate = plan.accumulate.map(|trace| trace.load(store, seed));
        Ok(Self {
            tensors: plan.update.traced().tensors(),
            update: plan.update.load(store, seed)?,
            accumulate: accumulate.transpose()?,
            accumulated: plan.accumulated,
            common: plan.common,
            info: plan.info,
            assignment: plan.assignment,
            averages: plan.averages,
            step: 0,
            batch: 0,
            lr_factor: 1.0,
        })
    }

    /// The program that updates the parameters.
    pub fn program(&self) -> &Program {
        &self.update
    }

    /// The same, for running or profiling it directly.
    pub fn program_mut(&mut self) -> &mut Program {
        &mut self.update
    }

    /// The plan of the program that updates the parameters.
    pub fn plan(&self) -> &Plan {
        self.update.plan()
    }

    /// The number of samples of a batch.
    pub fn batch_size(&self) -> usize {
        self.common.samples
    }

    /// The number of batches before an update.
    pub fn accumulated(&self) -> usize {
        self.accumulated
    }

    /// The number of completed updates.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Continues after `step` updates: the number determines the random numbers and the optimizer's bias correction.
    pub fn set_step(&mut self, step: u64) {
        self.step = step;
        self.batch = 0;
    }

    /// Continues after the updates of another step of the same definition and the same store, such as one for another
    /// batch size.
    pub fn follow(&mut self, other: &Self) {
        self.step = other.step;
        self.batch = other.batch;
        self.lr_factor = other.lr_factor;
    }

    /// Continues after `batches` batches, of all updates.
    pub(crate) fn set_batches(&mut self, batches: u64) {
        let each = self.accumulated.max(1) as u64;
        self.step = batches / each;
        self.batch = (batches % each) as usize;
    }

    /// The metrics of the step.
    pub fn metrics(&self) -> &MetricSet {
        &self.info.metrics
    }

    /// The number of batches since the last update.
    pub fn accumulated_batches(&self) -> usize {
        self.batch
    }

    pub(super) fn set_accumulated_batches(&mut self, batch: usize) {
        self.batch = batch;
    }

    /// Multiplies the learning rates of all groups by `factor` from the next update on, as in
    /// `step.set_lr_factor(schedule.factor(epoch, epochs))`.
    pub fn set_lr_factor(&mut self, factor: f64) {
        self.lr_factor = factor;
    }

    /// Names of the tensors of the model: parameters, then buffers.
    pub fn model(&self) -> impl Iterator<Item = &str> {
        self.parameters().chain(self.buffers())
    }

    /// Names of the parameters, frozen ones included.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.tensors.parameters.iter().map(|p| p.name.as_str())
    }

    /// Names of the parameters that are trained.
    pub fn trained(&self) -> impl Iterator<Item = &str> {
        self.assignment.trained.iter().map(|t| t.name.as_str())
    }

    /// Names of the buffers of the model, such as running statistics.
    pub fn buffers(&self) -> impl Iterator<Item = &str> {
        self.tensors
            .buffers
            .iter()
            .map(|buffer| buffer.name.as_str())
    }

    /// Parameters, states and buffers of the trace.
    pub fn tensors(&self) -> &TracedTensors {
        &self.tensors
    }

    /// The indices of the random numbers of update `step`, counted from 1, for its batch `batch`, counted from 0.
    pub(crate) fn draws(&self, step: u64, batch: usize) -> Draws {
        let Common {
            samples,
            seed,
            rank,
            ..
        } = self.common;
        Draws::for_step(seed, step).behind(0, samples * (batch * rank.ranks + rank.rank))
    }

    /// Begins new sequences: resets the states that are carried from run to run with
    /// [`Step::carry_states`](super::Step::carry_states).
    ///
    /// # Errors
    /// When the device fails.
    pub fn reset(&mut self, store: &mut VarStore) -> Result<()> {
        store.reset_states(&self.tensors.states, &self.tensors.starts, DType::F32)
    }

    /// Sets the inputs of the next run, as [`TrainStep::start`] does; for running or profiling
    /// [`TrainStep::program_mut`] directly.
    ///
    /// # Errors
    /// As [`TrainStep::start`].
    pub fn prepare(&mut self, values: impl InputValues) -> Result<()> {
        self.prepared(values).map(|_| ())
    }

    /// The program of the next batch, its inputs set.
    fn prepared(&mut self, values: impl InputValues) -> Result<&mut Program> {
        let step = self.step + 1;
        let draws = self.draws(step, self.batch);
        let updates = self.batch + 1 >= self.accumulated;
        let program = match &mut self.accumulate {
            Some(accumulate) if !updates => accumulate,
            _ => &mut self.update,
        };
        set_inputs(program, &self.common.inputs, values)?;
        if program.has_input(GENERATOR) {
            program.set(GENERATOR, HostTensor::I64(&draws.state()))?;
        }
        if updates {
            for (k, group) in self.assignment.groups.iter().enumerate() {
                let lr = group.optimizer.lr() * self.lr_factor;
                feed_scalars_of(program, &*group.optimizer, &group_name(k), step, lr)?;
            }
        }
        Ok(program)
    }

    /// Starts to train on a batch, given by the names and values of its inputs. The device may still be running when
    /// this returns; the next step can be started. With accumulated gradients, only the last batch before an update
    /// updates the parameters.
    ///
    /// # Errors
    /// When an input is missing or has another type or size, or the device fails.
    pub fn start(&mut self, values: impl InputValues) -> Result<PendingMetrics> {
        let (samples, infos) = (self.common.samples, self.info.metrics.clone());
        let program = self.prepared(values)?;
        program.run()?;
        let pending = PendingMetrics::fetch(program, samples, &infos)?;
        self.batch += 1;
        if self.batch >= self.accumulated {
            self.batch = 0;
            self.step += 1;
        }
        Ok(pending)
    }

    /// Trains on a batch.
    ///
    /// # Errors
    /// As [`TrainStep::start`].
    pub fn run(&mut self, values: impl InputValues) -> Result<StepMetrics> {
        self.start(values)?.wait()
    }

    /// The gradient of a parameter in the last update, before clipping; see
    /// [`Step::read_gradients`](super::Step::read_gradients).
    ///
    /// # Errors
    /// [`StepError::Unknown`]; when there was no update yet.
    pub fn gradient(&self, parameter: &str) -> Result<Tensor> {
        check_known("readable gradient", parameter, &self.info.gradients)?;
        self.update.get(&gradient_name(parameter))
    }

    /// A recorded value of a layer in the last update; see
    /// [`Step::read_activations`](super::Step::read_activations).
    ///
    /// # Errors
    /// [`StepError::Unknown`]; when there was no update yet.
    pub fn activation(&self, path: &str) -> Result<Tensor> {
        check_known("readable activation", path, &self.info.activations)?;
        self.update.get(&activation_name(path))
    }

    /// An output of the step's function in the last update.
    ///
    /// # Errors
    /// When there is no output of this name, or there was no update yet.
    pub fn output(&self, name: &str) -> Result<Tensor> {
        self.update.get(name)
    }

    /// Names of the tensors that differ between ranks, because they are not trained: buffers and their averages.
    pub(crate) fn untrained(&self) -> Vec<String> {
        let buffers: Vec<&str> = self.buffers().collect();
        let averages = self.averages.iter();
        let averages = averages.filter(|(_, tensor)| buffers.contains(&tensor.as_str()));
        let averages = averages.map(|(average, _)| average.as_str());
        buffers
            .iter()
            .copied()
            .chain(averages)
            .map(String::from)
            .collect()
    }

    /// A store in which the parameters and buffers are the averages of [`Step::ema`](super::Step::ema), in the same
    /// memory: programs that are compiled with it use the averages as they are at each run.
    ///
    /// # Errors
    /// [`StepError::NoAverages`] without averages.
    pub fn averaged(&self, store: &VarStore) -> Result<VarStore> {
        if self.averages.is_empty() {
            return Err(StepError::NoAverages.into());
        }
        let source = |name: &str| {
            let mut averages = self.averages.iter();
            let average = averages.find(|(_, tensor)| tensor == name);
            average.map_or(name.to_string(), |(average, _)| average.clone())
        };
        let model = self.model().map(|name| (name.to_string(), source(name)));
        store.renamed(model)
    }
}

impl fmt::Debug for TrainStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainStep")
            .field("program", &self.update)
            .field("step", &self.step)
            .field("accumulated", &self.accumulated)
            .finish_non_exhaustive()
    }
}
