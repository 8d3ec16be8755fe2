//! A pipeline as the engine of a [`Trainer`](spikelet_train::Trainer).

use crate::memory::PipelinePlans;
use crate::{Partition, PipelineConfig, PipelineEval, PipelineStep, StageReplicas};
use spikelet_core::{Error, Result};
use spikelet_data::Batch;
use spikelet_graph::{Backend, Tensor};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use spikelet_train::{
    BuildEngine, Draws, Engine, EvalEngine, EvalEngines, PendingMetrics, Programs, RunMemory,
    Settings, Task, batches,
};
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

/// A pipeline to train through: [`Trainer::engine`](spikelet_train::Trainer::engine) takes it. The
/// module must be a chain, as [`Sequential`](spikelet_nn::module::Sequential) and the named networks
/// are.
#[derive(Clone)]
pub struct PipelineOptions {
    /// The devices of each stage; one may come again.
    pub devices: Vec<StageReplicas>,
    /// Where the network is cut.
    pub stages: Stages,
    /// How batches are cut, and in which order the parts flow.
    pub parts: PipelineConfig,
    /// Where the trace of a step goes, in Chrome's format.
    pub trace: Option<PathBuf>,
}

impl PipelineOptions {
    /// The stages of a network.
    ///
    /// # Errors
    /// When it cannot be cut so.
    pub fn layout(
        &self,
        module: &Arc<dyn Module>,
        settings: &Settings,
        image: [usize; 3],
    ) -> Result<Partition> {
        match &self.stages {
            Stages::Auto => Partition::auto(module, settings, image, &self.devices, self.parts),
            Stages::At(firsts) => Partition::at(module, firsts, &self.devices, self.parts),
        }
    }
}

/// Steps after which a pipeline runs as it will: plans have run once and been recorded.
const WARM: u64 = 4;

impl BuildEngine for PipelineOptions {
    fn first_device(&self) -> Option<&Arc<dyn Backend>> {
        self.devices.iter().flat_map(StageReplicas::devices).next()
    }

    fn build(
        &self,
        module: &Arc<dyn Module>,
        task: &Task<'_>,
        store: &mut VarStore,
    ) -> Result<Programs> {
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
        let layout = self.layout(module, settings, shape.image)?;
        let batch = task.micro_batched();
        let sizes = batches(batch, tested);
        let plans = PipelinePlans::new(&layout, settings, shape.image, &sizes)?;
        let (step, evaluators, memory) = plans.load(store)?;
        let step = match &self.trace {
            Some(path) => step.traced(path.clone(), WARM),
            None => step,
        };
        let mut evaluation = EvalEngines::new(batch);
        for (size, eval) in evaluators {
            evaluation.by_size.insert(size, Box::new(eval));
        }
        let memory = RunMemory::for_devices(memory.step.total(), memory.peak.total(), batch);
        Ok(Programs {
            engine: Box::new(PipelineEngine { step, layout }),
            evaluation,
            memory,
        })
    }
}

/// The steps of a run through a pipeline.
pub struct PipelineEngine {
    step: PipelineStep,
    layout: Partition,
}

impl PipelineEngine {
    /// The compiled step.
    pub fn step(&self) -> &PipelineStep {
        &self.step
    }

    /// The stages.
    pub fn layout(&self) -> &Partition {
        &self.layout
    }
}

impl Engine for PipelineEngine {
    fn start(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<PendingMetrics> {
        Ok(PendingMetrics::known(self.step.run(batch, step, epoch)?))
    }

    fn parameters(&self) -> Vec<String> {
        self.step.parameters().map(String::from).collect()
    }

    fn buffers(&self) -> Vec<String> {
        self.step.buffers().map(String::from).collect()
    }

    fn draws(&self, step: u64) -> Draws {
        self.step.draws(step)
    }

    fn gathering_device(&self) -> Option<Arc<dyn Backend>> {
        self.layout.devices().first().cloned()
    }
}

impl EvalEngine for PipelineEval {
    fn start(&mut self, batch: &Batch, first: usize) -> Result<PendingMetrics> {
        Ok(PendingMetrics::known(self.run(batch, first)?))
    }

    fn batch_size(&self) -> usize {
        PipelineEval::batch_size(self)
    }

    fn scores(&self) -> usize {
        PipelineEval::scores(self)
    }

    fn output_seq(&mut self, batch: &Batch, first: usize) -> Result<Option<Tensor>> {
        self.outputs(batch, first).map(Some)
    }
}
