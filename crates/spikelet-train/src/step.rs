//! The compiled training step.

use super::Settings;
use super::draws::Draws;
use super::scaling::{LossScale, UpdateGuard, is_scaled};
use crate::optim::{feed_scalars, scalar_inputs, update};
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_distributed::average_over_ranks;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{DType, HostFuture, Plan, Target, Var};
use spikelet_nn::encoder;
use spikelet_nn::loss;
use spikelet_nn::module::{Context, GENERATOR, Mode, Module, StepOutputs, Traced};
use spikelet_nn::runtime::{Program, TracePlan, VarStore};
use std::fmt;

/// The shape of the images of a batch, `[N, channels, height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchShape {
    /// Images.
    pub batch: usize,
    /// Channels, height, width.
    pub image: [usize; 3],
}

/// The rank of a data-parallel training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RankInfo {
    /// The rank, counted from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
}

impl Default for RankInfo {
    /// A single rank.
    fn default() -> Self {
        Self { rank: 0, ranks: 1 }
    }
}

/// Loss and number of correct images of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepMetrics {
    /// The mean loss of the batch.
    pub loss: f64,
    /// The number of correctly classified images.
    pub correct: f64,
}

/// The [`StepMetrics`] of a step that may still run on the device.
#[must_use = "the device's errors come out of `wait`"]
pub struct PendingMetrics(Found);

/// Metrics on the host, or in a transfer to it.
enum Found {
    Here(StepMetrics),
    Coming(Box<dyn HostFuture>),
}

impl PendingMetrics {
    /// The outputs of the program that the metrics are read from.
    const OUTPUTS: [&str; 2] = ["loss", "correct"];

    pub(super) fn new(program: &Program) -> Result<Self> {
        Ok(Self(Found::Coming(program.fetch(&Self::OUTPUTS)?)))
    }

    /// Metrics on the host.
    pub fn known(outcome: StepMetrics) -> Self {
        Self(Found::Here(outcome))
    }

    /// Waits for the metrics.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn wait(self) -> Result<StepMetrics> {
        let found = match self.0 {
            Found::Here(outcome) => return Ok(outcome),
            Found::Coming(pending) => pending.wait()?,
        };
        let number = |k: usize| found[k].to_f64().first().copied().unwrap_or(f64::NAN);
        Ok(StepMetrics {
            loss: number(0),
            correct: number(1),
        })
    }
}

pub(super) struct Scored {
    pub(super) scores: Var,
    pub(super) labels: Var,
    pub(super) output: StepOutputs,
}

pub(super) fn context(mode: Mode, settings: &Settings) -> Context {
    Context::new(mode, DType::F32)
        .propagation(settings.propagation)
        .precision(settings.precision)
}

pub(super) fn trace(
    cx: &Context,
    module: &dyn Module,
    settings: &Settings,
    shape: BatchShape,
) -> Result<Scored> {
    settings.check()?;
    let [channels, height, width] = shape.image;
    let image = [shape.batch, channels, height, width];
    let x = cx.tracer().input("images", DType::F32, image);
    let labels = cx.tracer().input("labels", DType::I64, [shape.batch]);
    let encoder = encoder::parse(&settings.encoder)?;
    let output = cx.trace_encoded(module, &*encoder, &x, settings.time_steps)?;
    Ok(Scored {
        scores: output.mean(),
        labels,
        output,
    })
}

pub(super) fn feed(program: &Program, batch: &Batch, draws: Draws) -> Result<()> {
    program.set("images", HostTensor::F32(batch.f32("images")?))?;
    program.set("labels", HostTensor::I64(batch.i64("labels")?))?;
    if program.has_input(GENERATOR) {
        program.set(GENERATOR, HostTensor::I64(&draws.state()))?;
    }
    Ok(())
}

/// Forward pass, backward pass and update. A step whose loss is not finite does not update anything.
pub struct TrainStep {
    program: Program,
    settings: Settings,
    images_before: usize,
    traced: Traced,
}

/// A planned training step. Nothing is allocated yet.
pub struct StepPlan {
    trace: TracePlan,
    settings: Settings,
    images_before: usize,
    scales_loss: bool,
}

impl StepPlan {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.trace.plan()
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
        Ok(TrainStep {
            traced: self.trace.traced().clone(),
            program: self.trace.load(store, self.settings.seed)?,
            settings: self.settings,
            images_before: self.images_before,
        })
    }
}

impl TrainStep {
    /// Compiles a step. Parameters that the store does not have are initialized.
    ///
    /// # Errors
    /// When shapes do not match or the device has not enough memory.
    pub fn new(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        store: &mut VarStore,
    ) -> Result<Self> {
        Self::for_rank(module, settings, shape, RankInfo::default(), store)
    }

    /// Compiles the step of one of several ranks, each with its own batch: gradients are the means over all ranks. The
    /// device of the store must be in a group of this size.
    ///
    /// # Errors
    /// As [`TrainStep::new`].
    pub fn for_rank(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        place: RankInfo,
        store: &mut VarStore,
    ) -> Result<Self> {
        Self::plan(module, settings, shape, place, &**store.backend())?.load(store)
    }

    /// Plans the step of a rank. Nothing is allocated.
    ///
    /// # Errors
    /// When shapes do not match or the memory budget is too small.
    pub fn plan(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        place: RankInfo,
        target: &dyn Target,
    ) -> Result<StepPlan> {
        Self::plan_beside(module, settings, shape, place, target, 0)
    }

    /// The same, with `others` bytes of the memory budget reserved for other programs.
    pub(super) fn plan_beside(
        module: &dyn Module,
        settings: &Settings,
        shape: BatchShape,
        place: RankInfo,
        target: &dyn Target,
        others: usize,
    ) -> Result<StepPlan> {
        let cx = context(Mode::TRAIN, settings).in_group(place.ranks, settings.sync_batch_norm);
        let scored = trace(&cx, module, settings, shape)?;
        let loss = settings.apply_loss(&scored.output, &scored.scores, &scored.labels);
        let correct = loss::correct(&scored.scores, &scored.labels);
        let traced = cx.traced();
        let tracer = cx.tracer();
        let weights: Vec<Var> = traced
            .parameters
            .iter()
            .filter_map(|p| tracer.find_input(&p.name))
            .collect();
        let scale = is_scaled(settings).then(|| LossScale::new(tracer));
        let start = scale.as_ref().map_or(loss.clone(), |s| s.scaled(&loss));
        let mut grads = tracer.gradients(&start, &weights.iter().collect::<Vec<_>>());
        // All ranks decide in the same way whether to update: by the mean of the losses.
        grads.push(loss.clone());
        grads = average_over_ranks(grads, place.ranks);
        let mean_loss = grads.pop().unwrap_or_else(|| loss.clone());
        let scales_loss = scale.is_some();
        let guard = match scale {
            Some(scale) => {
                let (unscaled, guard) = scale.unscaled(&grads);
                grads = unscaled;
                guard
            }
            None => UpdateGuard::FiniteLoss(mean_loss),
        };
        if let Some(clip) = settings.clip {
            grads = clip.apply(&grads);
        }
        let scalars = scalar_inputs(tracer, settings);
        for (parameter, (weight, grad)) in traced.parameters.iter().zip(weights.iter().zip(&grads))
        {
            let optimizer = settings.optimizer_of(weight.shape());
            let optimizer = optimizer.get();
            update(optimizer, &parameter.name, weight, grad, &scalars, &guard);
        }
        tracer.output("loss", &loss);
        tracer.output("correct", &correct);
        Ok(StepPlan {
            trace: cx.plan(target, settings.memory_budget, others)?,
            settings: settings.clone(),
            images_before: place.rank * shape.batch,
            scales_loss,
        })
    }

    /// The compiled program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The compiled program, for running or profiling it directly.
    pub fn program_mut(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Names of the tensors of the model: parameters, then buffers.
    pub fn model(&self) -> impl Iterator<Item = &str> {
        let all = self.traced.parameters.iter().chain(&self.traced.buffers);
        all.map(|tensor| tensor.name.as_str())
    }

    /// Names of the parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.traced
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
    }

    /// Names of the buffers of the model, such as running statistics.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &str> {
        self.traced
            .buffers
            .iter()
            .map(|buffer| buffer.name.as_str())
    }

    /// The indices of the random numbers of step `step`.
    pub(super) fn draws(&self, step: u64) -> Draws {
        Draws::for_step(self.settings.seed, step).behind(0, self.images_before)
    }

    /// Sets the batch and the scalars of the next step: `step` counts from 1, `epoch` is the progress
    /// in epochs.
    ///
    /// # Errors
    /// When the batch has another size than the step.
    pub fn prepare(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<()> {
        feed(&self.program, batch, self.draws(step))?;
        feed_scalars(&self.program, &self.settings, step, epoch)
    }

    /// Starts to train on a batch. The device may still be running when this returns; the batch can be
    /// reused, and the next step can be started.
    ///
    /// # Errors
    /// When the batch has another size than the step, or the device fails.
    pub fn start(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<PendingMetrics> {
        self.prepare(batch, step, epoch)?;
        self.program.run()?;
        PendingMetrics::new(&self.program)
    }

    /// Trains on a batch.
    ///
    /// # Errors
    /// When the batch has another size than the step, or the device fails.
    pub fn run(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<StepMetrics> {
        self.start(batch, step, epoch)?.wait()
    }
}

impl fmt::Debug for TrainStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainStep")
            .field("program", &self.program)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for StepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepPlan")
            .field("trace", &self.trace)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMetrics").finish_non_exhaustive()
    }
}
