//! What makes the steps of a run: one device, or a pipeline of several.

use super::draws::Draws;
use super::memory::{RunMemory, Task, batches};
use super::step::{Outcome, PendingOutcome};
use super::together::Together;
use super::{EvalStep, Settings, TrainStep};
use crate::error::{Error, Result};
use crate::model::Store;
use crate::module::Module;
use crate::pipeline::{Layout, Parts, PipelineEval, PipelinePlans, PipelineStep, Team};
use spikelet_data::Batch;
use spikelet_graph::Backend;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a pipeline cuts its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stages {
    /// So that the busiest device has the least to do and each has room.
    #[default]
    Auto,
    /// In front of these modules of the chain, counted from 0.
    At(Vec<usize>),
}

/// How a network is trained through a pipeline.
#[derive(Clone)]
pub struct PipelineOptions {
    /// The devices of each stage; one may come again.
    pub devices: Vec<Team>,
    /// Where the network is cut.
    pub stages: Stages,
    /// How batches are cut, and in which order the parts flow.
    pub parts: Parts,
    /// Where the trace of a step goes, in Chrome's format.
    pub trace: Option<PathBuf>,
}

impl PipelineOptions {
    /// The first stage's first device; nothing where no stage has one.
    pub fn first_device(&self) -> Option<&Arc<dyn Backend>> {
        self.devices.iter().flat_map(Team::devices).next()
    }

    /// The stages of a network.
    ///
    /// # Errors
    /// When it cannot be cut so.
    pub fn layout(
        &self,
        module: &Arc<dyn Module>,
        settings: &Settings,
        image: [usize; 3],
    ) -> Result<Layout> {
        match &self.stages {
            Stages::Auto => Layout::auto(module, settings, image, &self.devices, self.parts),
            Stages::At(firsts) => Layout::at(module, firsts, &self.devices, self.parts),
        }
    }
}

/// Makes the steps of a run.
pub enum Engine {
    /// On one device.
    One(Box<TrainStep>),
    /// Through a pipeline.
    Pipeline(Box<PipelineStep>, Layout),
}

/// Steps after which a pipeline runs as it will: plans have run once and been recorded.
const WARM: u64 = 4;

/// A step of training and the evaluation beside it.
pub(super) struct Programs {
    pub(super) engine: Engine,
    pub(super) evaluation: EvalEngines,
    pub(super) memory: RunMemory,
}

impl Programs {
    /// Plans both, and makes them ready to run if the device has room for them, and for those of the
    /// other ranks that share its memory. All ranks take the evaluation's batch of rank 0.
    pub(super) fn new(
        module: &Arc<dyn Module>,
        task: &Task<'_>,
        pipeline: Option<&PipelineOptions>,
        together: &Together,
        store: &mut Store,
    ) -> Result<Self> {
        if let Some(options) = pipeline {
            return Self::of_pipeline(module, task, options, store);
        }
        let plans = task.plan(&**store.backend(), |batch| together.agree(batch))?;
        let memory = plans.memory();
        plans.check(&**store.backend(), store, together.ranks_here())?;
        // What is free was the same for all ranks of a host: none has allocated anything before.
        together.wait_for_all()?;
        let (step, evaluation) = plans.load(store)?;
        let mut engines = EvalEngines::new(memory.evaluation_batch);
        evaluation.into_iter().for_each(|step| engines.add(step));
        Ok(Self {
            evaluation: engines,
            engine: Engine::One(Box::new(step)),
            memory,
        })
    }

    fn of_pipeline(
        module: &Arc<dyn Module>,
        task: &Task<'_>,
        options: &PipelineOptions,
        store: &mut Store,
    ) -> Result<Self> {
        let Task {
            settings,
            shape,
            place,
            tested,
            ..
        } = *task;
        if place.ranks > 1 {
            return Err(Error::invalid(
                "pipeline",
                format!("it cannot be one of {} ranks", place.ranks),
                "train with a pipeline or with data parallelism",
            ));
        }
        if settings.memory_budget.is_some() {
            return Err(Error::invalid(
                "memory budget",
                "it is for one device, and here is a pipeline".to_string(),
                "give smaller micro-batches, or leave it out",
            ));
        }
        let layout = options.layout(module, settings, shape.image)?;
        let batch = task.pipelined_batch();
        let sizes = batches(batch, tested);
        let plans = PipelinePlans::new(&layout, settings, shape.image, &sizes)?;
        let (step, evaluators, memory) = plans.load(store)?;
        let step = match &options.trace {
            Some(path) => step.traced(path.clone(), WARM),
            None => step,
        };
        let mut evaluation = EvalEngines::new(batch);
        for (size, eval) in evaluators {
            let eval = EvalEngine::Pipeline(Box::new(eval));
            evaluation.by_size.insert(size, eval);
        }
        let memory = RunMemory::of_pipeline(&memory, batch);
        Ok(Self {
            engine: Engine::Pipeline(Box::new(step), layout),
            evaluation,
            memory,
        })
    }
}

impl Engine {
    /// The step on one device, if it is that.
    pub fn one(&self) -> Option<&TrainStep> {
        match self {
            Self::One(step) => Some(step),
            Self::Pipeline(..) => None,
        }
    }

    /// The step through a pipeline and its stages, if it is that.
    pub fn pipeline(&self) -> Option<(&PipelineStep, &Layout)> {
        match self {
            Self::One(_) => None,
            Self::Pipeline(step, layout) => Some((step, layout)),
        }
    }

    pub(super) fn start(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<PendingOutcome> {
        match self {
            Self::One(one) => one.start(batch, step, epoch),
            Self::Pipeline(pipeline, _) => {
                Ok(PendingOutcome::known(pipeline.run(batch, step, epoch)?))
            }
        }
    }

    /// Names of the learnable tensors.
    pub(super) fn parameters(&self) -> Vec<String> {
        match self {
            Self::One(step) => step.parameters().map(String::from).collect(),
            Self::Pipeline(step, _) => step.parameters().map(String::from).collect(),
        }
    }

    /// Names of the tensors that are kept with them.
    pub(super) fn buffers(&self) -> Vec<String> {
        match self {
            Self::One(step) => step.buffers().map(String::from).collect(),
            Self::Pipeline(step, _) => step.buffers().map(String::from).collect(),
        }
    }

    /// Both.
    pub(super) fn model(&self) -> Vec<String> {
        [self.parameters(), self.buffers()].concat()
    }

    /// The numbers of the draws of step number `step`.
    pub(super) fn draws(&self, step: u64) -> Draws {
        match self {
            Self::One(one) => one.draws(step),
            Self::Pipeline(pipeline, _) => pipeline.draws(step),
        }
    }
}

/// Forward passes over the batches of an evaluation.
pub(super) struct EvalEngines {
    /// Images of a whole batch.
    pub(super) batch: usize,
    /// A program for each size: whole batches, and what is left of a data set.
    pub(super) by_size: BTreeMap<usize, EvalEngine>,
}

impl EvalEngines {
    /// None yet, for batches of so many images.
    pub(super) fn new(batch: usize) -> Self {
        Self {
            batch,
            by_size: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, step: EvalStep) {
        let size = step.batch_size();
        (self.by_size).insert(size, EvalEngine::One(Box::new(step)));
    }
}

/// Evaluates batches of one size.
pub(super) enum EvalEngine {
    One(Box<EvalStep>),
    Pipeline(Box<PipelineEval>),
}

impl EvalEngine {
    pub(super) fn start(&mut self, batch: &Batch, first: usize) -> Result<PendingOutcome> {
        match self {
            Self::One(step) => step.start(batch, first),
            Self::Pipeline(eval) => {
                let found: Outcome = eval.run(batch, first)?;
                Ok(PendingOutcome::known(found))
            }
        }
    }

    /// How many scores the network gives each image.
    pub(super) fn scores(&self) -> usize {
        match self {
            Self::One(step) => step.scores(),
            Self::Pipeline(eval) => eval.scores(),
        }
    }
}
