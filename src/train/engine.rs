//! What makes the steps of a run: one device, or a pipeline of several.

use super::draws::Draws;
use super::step::{Outcome, PendingOutcome};
use super::{EvalStep, Place, Settings, Shape, TrainStep};
use crate::error::{Error, Result};
use crate::model::Store;
use crate::module::Module;
use crate::pipeline::{Layout, Parts, PipelineEval, PipelineStep, Team};
use spikelet_data::Batch;
use spikelet_graph::Backend;
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

impl Engine {
    pub(super) fn new(
        module: &Arc<dyn Module>,
        settings: &Settings,
        shape: Shape,
        place: Place,
        pipeline: Option<&PipelineOptions>,
        store: &mut Store,
    ) -> Result<Self> {
        let Some(options) = pipeline else {
            let step = TrainStep::of_rank(&**module, settings, shape, place, store)?;
            return Ok(Self::One(Box::new(step)));
        };
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
        let step = PipelineStep::new(&layout, settings, shape.image, store)?;
        let step = match &options.trace {
            Some(path) => step.traced(path.clone(), WARM),
            None => step,
        };
        Ok(Self::Pipeline(Box::new(step), layout))
    }

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

    /// Bytes of the device, or of all devices.
    pub(super) fn peak_bytes(&self) -> usize {
        match self {
            Self::One(step) => step.program().plan().peak_bytes(),
            Self::Pipeline(step, _) => step.bytes().iter().sum(),
        }
    }

    pub(super) fn eval(
        &self,
        module: &dyn Module,
        settings: &Settings,
        shape: Shape,
        store: &mut Store,
    ) -> Result<EvalEngine> {
        Ok(match self {
            Self::One(_) => EvalEngine::One(Box::new(EvalStep::new(
                module, settings, shape, false, store,
            )?)),
            Self::Pipeline(_, layout) => {
                let (batch, image) = (shape.batch, shape.image);
                let eval = PipelineEval::new(layout, settings, batch, image, store)?;
                EvalEngine::Pipeline(Box::new(eval))
            }
        })
    }
}

/// Evaluates batches of one size.
pub(super) enum EvalEngine {
    One(Box<EvalStep>),
    Pipeline(Box<PipelineEval>),
}

impl EvalEngine {
    pub(super) fn start(&mut self, batch: &Batch, index: usize) -> Result<PendingOutcome> {
        match self {
            Self::One(step) => step.start(batch, index),
            Self::Pipeline(eval) => {
                let found: Outcome = eval.run(batch, index)?;
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

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::One(step) => step.program().arena_bytes(),
            Self::Pipeline(eval) => eval.bytes().iter().sum(),
        }
    }
}
