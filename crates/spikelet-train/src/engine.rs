//! The programs of a run: training steps and evaluation batches, on one device or by another engine.

use crate::memory::{Loaded, RunMemory, RunSteps, Task};
use crate::ranks::Ranks;
use crate::step::{MetricSet, PendingMetrics, ProbeStep};
use crate::{EvalStep, TrainStep};
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::{Backend, Tensor};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use crate::draws::Draws;
pub use crate::forward::batches;
pub use crate::in_flight::InFlight;

/// Compiles the programs of a run for other targets than one device: see
/// [`Trainer::engine`](crate::Trainer::engine).
pub trait BuildEngine: Send + Sync {
    /// The device that tensors of a checkpoint are read to.
    fn first_device(&self) -> Option<&Arc<dyn Backend>>;

    /// Compiles the training step and the evaluation of a module.
    ///
    /// # Errors
    /// When a setting is not supported, shapes do not match, or a device has too little memory.
    fn build(
        &self,
        module: &Arc<dyn Module>,
        task: &Task<'_>,
        store: &mut VarStore,
    ) -> Result<Programs>;
}

/// Runs the training steps of a run.
///
/// An engine of another crate is recognized by its type: `&dyn Engine` can be cast to `&dyn Any`.
pub trait Engine: Any {
    /// Starts to train on batch number `step` of the run, counted from 1; `factor` is that of the learning rate.
    ///
    /// # Errors
    /// When the batch has another shape, or the device fails.
    fn start(&mut self, batch: &Batch, step: u64, factor: f64) -> Result<PendingMetrics>;

    /// The metrics of a step.
    fn metrics(&self) -> MetricSet;

    /// Names of the trainable tensors.
    fn parameters(&self) -> Vec<String>;

    /// Names of the tensors that are stored with them.
    fn buffers(&self) -> Vec<String>;

    /// Names of the tensors that differ between ranks during an epoch. Those of rank 0 are used for evaluations.
    fn untrained(&self) -> Vec<String> {
        self.buffers()
    }

    /// The random numbers of batch number `step`.
    fn draws(&self, step: u64) -> Draws;

    /// The device on which all tensors are gathered to examine them, if they are on several.
    fn gathering_device(&self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Names of the tensors of the model: parameters, then buffers.
    fn model(&self) -> Vec<String> {
        [self.parameters(), self.buffers()].concat()
    }
}

impl Engine for TrainStep {
    fn start(&mut self, batch: &Batch, step: u64, factor: f64) -> Result<PendingMetrics> {
        self.set_batches(step - 1);
        self.set_lr_factor(factor);
        self.start_batch(batch)
    }

    fn metrics(&self) -> MetricSet {
        TrainStep::metrics(self).clone()
    }

    fn parameters(&self) -> Vec<String> {
        TrainStep::parameters(self).map(String::from).collect()
    }

    fn buffers(&self) -> Vec<String> {
        TrainStep::buffers(self).map(String::from).collect()
    }

    fn untrained(&self) -> Vec<String> {
        TrainStep::untrained(self)
    }

    fn draws(&self, step: u64) -> Draws {
        let (batches, each) = (step - 1, self.accumulated().max(1) as u64);
        TrainStep::draws(self, batches / each + 1, (batches % each) as usize)
    }
}

/// Runs evaluation batches of one size.
pub trait EvalEngine {
    /// Starts a batch.
    ///
    /// # Errors
    /// When the batch has another shape, or the device fails.
    fn start(&mut self, batch: &Batch) -> Result<PendingMetrics>;

    /// The number of images of a batch.
    fn batch_size(&self) -> usize;

    /// The metrics of a batch.
    fn metrics(&self) -> MetricSet;

    /// The number of scores of each image of a classifier; `None` if it has no scores.
    fn scores(&self) -> Option<usize>;

    /// The outputs of all steps, `[T, N, classes]`, if the engine can return them without additional memory.
    ///
    /// # Errors
    /// As [`EvalEngine::start`].
    fn output_seq(&mut self, batch: &Batch) -> Result<Option<Tensor>> {
        let _ = batch;
        Ok(None)
    }
}

impl EvalEngine for EvalStep {
    fn start(&mut self, batch: &Batch) -> Result<PendingMetrics> {
        self.start_batch(batch)
    }

    fn batch_size(&self) -> usize {
        EvalStep::batch_size(self)
    }

    fn metrics(&self) -> MetricSet {
        EvalStep::metrics(self).clone()
    }

    fn scores(&self) -> Option<usize> {
        self.output_type("scores")?.shape.last().copied()
    }
}

/// The evaluation programs of a run.
pub struct EvalEngines {
    /// The number of images of a full batch.
    pub batch: usize,
    /// A program for each batch size: full batches, and the remainder of each data set.
    pub by_size: BTreeMap<usize, Box<dyn EvalEngine>>,
}

impl EvalEngines {
    /// No programs, for batches of this many images.
    pub fn new(batch: usize) -> Self {
        Self {
            batch,
            by_size: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, step: EvalStep) {
        let size = step.batch_size();
        self.by_size.insert(size, Box::new(step));
    }
}

/// The measurement of training batches, from which the health of a run is diagnosed.
pub struct BatchProbe(pub(crate) ProbeStep);

/// A training step, and the evaluation.
pub struct Programs {
    /// Runs the training steps.
    pub engine: Box<dyn Engine>,
    /// Runs the evaluation.
    pub evaluation: EvalEngines,
    /// The memory of both.
    pub memory: RunMemory,
    /// The forward pass that measures firing rates of training batches, if there is one.
    pub sampled: Option<EvalStep>,
    /// The measurement of training batches, if there is one.
    pub probe: Option<BatchProbe>,
    /// The averaged weights, under the names of the weights, if there are any.
    pub averaged: Option<VarStore>,
}

impl Programs {
    /// Plans both programs for one device, and compiles them if the device has enough memory for them and for those
    /// of the other ranks that share it. All ranks use the evaluation batch of rank 0.
    pub(crate) fn on_one_device(
        steps: &RunSteps<'_>,
        together: &Ranks,
        store: &mut VarStore,
    ) -> Result<Self> {
        let plans = steps.plan(&**store.backend(), |batch| together.agree(batch))?;
        let memory = plans.memory();
        let ranks = together.ranks_on_device(&**store.backend())?;
        plans.check(&**store.backend(), store, ranks)?;
        // All ranks of a device measure the same free memory: none has allocated anything before.
        together.wait_for_all()?;
        let Loaded {
            step,
            evaluation,
            sampled,
            probe,
            averaged,
        } = plans.load(store)?;
        let mut engines = EvalEngines::new(memory.evaluation_batch);
        evaluation.into_iter().for_each(|step| engines.add(step));
        Ok(Self {
            evaluation: engines,
            engine: Box::new(step),
            memory,
            sampled,
            probe: probe.map(BatchProbe),
            averaged,
        })
    }
}

impl fmt::Debug for EvalEngines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalEngines")
            .field("batch", &self.batch)
            .field("sizes", &self.by_size.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BatchProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchProbe").finish_non_exhaustive()
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs")
            .field("evaluation", &self.evaluation)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
