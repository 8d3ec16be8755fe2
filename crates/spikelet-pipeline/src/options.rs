//! A pipeline as the engine of a [`Trainer`](spikelet_train::Trainer).

use super::config::PipelineConfig;
use super::error::PipelineError;
use super::forward::PipelineEval;
use super::partition::Partition;
use super::run_plans::PipelinePlans;
use super::stage_replicas::StageReplicas;
use super::training::PipelineStep;
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::{Backend, Tensor};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use spikelet_train::Settings;
use spikelet_train::engine::{
    BuildEngine, Draws, Engine, EvalEngine, EvalEngines, Programs, batches,
};
use spikelet_train::memory::{RunMemory, Task};
use spikelet_train::step::{MetricSet, PendingMetrics};
use std::path::PathBuf;
use std::sync::Arc;

/// How a network is partitioned into stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stages {
    /// Minimizes the predicted run time of the slowest device, within the memory of each device.
    #[default]
    Auto,
    /// The indices of the modules with which the stages after the first one begin.
    At(Vec<usize>),
}

/// The options of a pipeline, for [`Trainer::engine`](spikelet_train::Trainer::engine). The module must be a
/// chain, such as [`Sequential`](spikelet_nn::module::Sequential) and the named networks.
#[derive(Clone, Debug)]
pub struct PipelineOptions {
    /// The devices of each stage. Several stages may be on one device.
    pub devices: Vec<StageReplicas>,
    /// The partition of the network.
    pub stages: Stages,
    /// How batches are split, and the order of forward and backward passes.
    pub config: PipelineConfig,
    /// The file to which the timeline of a step is written, in the trace format of Chrome.
    pub timeline: Option<PathBuf>,
}

impl PipelineOptions {
    /// The partition of a network.
    ///
    /// # Errors
    /// When the network cannot be partitioned in this way.
    pub fn partition(
        &self,
        module: &Arc<dyn Module>,
        settings: &Settings,
        image: [usize; 3],
    ) -> Result<Partition> {
        match &self.stages {
            Stages::Auto => Partition::auto(module, settings, image, &self.devices, self.config),
            Stages::At(firsts) => Partition::at(module, firsts, &self.devices, self.config),
        }
    }
}

/// The number of steps after which the plans have been recorded and run times are representative.
const WARM_UP_STEPS: u64 = 4;

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
            let ranks = place.ranks;
            return Err(PipelineError::DataParallel { ranks }.into());
        }
        if settings.memory_budget.is_some() {
            return Err(PipelineError::MemoryBudget.into());
        }
        let unsupported = [
            ("accumulated gradients", settings.accumulate != 1),
            ("noise on gradients", settings.gradient_noise.is_some()),
            ("averages of the weights", settings.ema.is_some()),
            ("groups of parameters", !settings.groups.is_empty()),
            ("mixed images", settings.mixes()),
            ("penalties on spikes", !settings.penalties.is_empty()),
        ];
        if let Some((setting, _)) = unsupported.into_iter().find(|(_, is_set)| *is_set) {
            return Err(PipelineError::Unsupported { setting }.into());
        }
        let partition = self.partition(module, settings, shape.image)?;
        let batch = task.micro_batched();
        let sizes = batches(batch, tested);
        let plans = PipelinePlans::new(&partition, settings, shape.image, &sizes)?;
        let (step, evaluators, memory) = plans.load(store)?;
        let step = match &self.timeline {
            Some(path) => step.write_timelines(path.clone(), WARM_UP_STEPS),
            None => step,
        };
        let mut evaluation = EvalEngines::new(batch);
        for (size, eval) in evaluators {
            evaluation.by_size.insert(size, Box::new(eval));
        }
        let memory = RunMemory::for_devices(memory.step.total(), memory.peak.total(), batch);
        Ok(Programs {
            engine: Box::new(PipelineEngine { step, partition }),
            evaluation,
            memory,
            sampled: None,
            probe: None,
            averaged: None,
        })
    }
}

/// The training steps of a pipeline.
#[derive(Debug)]
pub struct PipelineEngine {
    step: PipelineStep,
    partition: Partition,
}

impl PipelineEngine {
    /// The compiled step.
    pub fn step(&self) -> &PipelineStep {
        &self.step
    }

    /// The partition of the network.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }
}

impl Engine for PipelineEngine {
    fn start(&mut self, batch: &Batch, step: u64, factor: f64) -> Result<PendingMetrics> {
        Ok(PendingMetrics::known(self.step.run(batch, step, factor)?))
    }

    fn metrics(&self) -> MetricSet {
        MetricSet::of_classifier()
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
        self.partition.devices().first().cloned()
    }
}

impl EvalEngine for PipelineEval {
    fn start(&mut self, batch: &Batch) -> Result<PendingMetrics> {
        Ok(PendingMetrics::known(self.run(batch)?))
    }

    fn batch_size(&self) -> usize {
        PipelineEval::batch_size(self)
    }

    fn metrics(&self) -> MetricSet {
        MetricSet::of_classifier()
    }

    fn scores(&self) -> Option<usize> {
        Some(PipelineEval::scores(self))
    }

    fn output_seq(&mut self, batch: &Batch) -> Result<Option<Tensor>> {
        self.outputs(batch).map(Some)
    }
}
