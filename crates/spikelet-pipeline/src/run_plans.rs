//! The plans of a run, which are loaded if they fit into the memory of the devices.

use super::device_memory::{DeviceBytes, check};
use super::dry_run::DryRun;
use super::forward::{EvalPlan, PipelineEval};
use super::partition::Partition;
use super::training::{PipelineStep, StepPlan};
use spikelet_core::Result;
use spikelet_nn::runtime::VarStore;
use spikelet_train::Settings;
use std::collections::{BTreeMap, BTreeSet};

/// How to reduce the memory of a training step.
const REDUCE_STEP: &str = "use smaller micro-batches (--split-size), a schedule with fewer of \
them in flight (--pipeline-schedule 1f1b), fewer time steps (--time-steps), a 16-bit precision \
(--precision bf16), or more devices (--pipeline)";

/// How to reduce the memory of an evaluation.
const REDUCE_EVALUATION: &str = "use smaller micro-batches (--split-size), evaluate fewer images at \
once (--eval-batch-size), or use fewer time steps (--time-steps) or a 16-bit precision (--precision bf16)";

/// The memory of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PipelineMemory {
    /// The training step alone.
    pub(crate) step: DeviceBytes,
    /// The training step and the evaluation, which are loaded together.
    pub(crate) peak: DeviceBytes,
}

/// The plans of a run. No device memory is allocated for them.
pub(crate) struct PipelinePlans {
    partition: Partition,
    step: StepPlan,
    /// By the batch size.
    evaluation: BTreeMap<usize, EvalPlan>,
}

impl PipelinePlans {
    /// Plans training, and evaluation with batches of these sizes.
    pub(crate) fn new(
        partition: &Partition,
        settings: &Settings,
        image: [usize; 3],
        evaluated: &BTreeSet<usize>,
    ) -> Result<Self> {
        let plan = |&size: &usize| Ok((size, EvalPlan::new(partition, settings, size, image)?));
        Ok(Self {
            partition: partition.clone(),
            step: StepPlan::new(partition, settings, image)?,
            evaluation: evaluated.iter().map(plan).collect::<Result<_>>()?,
        })
    }

    /// The memory that is needed in addition to the tensors of the store.
    pub(crate) fn memory(&self, store: &VarStore) -> Result<PipelineMemory> {
        let mut dry = DryRun::new(&self.partition, store)?;
        dry.allocate(&self.step.pipeline_plan.traced)?;
        let step = self.step.load(&dry.partition, &mut dry.store)?;
        let mut sent = step.sent_bytes();
        let alone = dry.peaks().with_sent(&self.partition, &sent);
        // All evaluations stay loaded, and run one after the other.
        let mut evaluation = vec![];
        for plan in self.evaluation.values() {
            let loaded = plan.load(&dry.partition, &dry.host(), &mut dry.store)?;
            for (most, own) in sent.iter_mut().zip(loaded.sent_bytes()) {
                *most = own.max(*most);
            }
            evaluation.push(loaded);
        }
        Ok(PipelineMemory {
            step: alone,
            peak: dry.peaks().with_sent(&self.partition, &sent),
        })
    }

    /// Loads all plans, if they fit into the memory of the devices.
    pub(crate) fn load(
        &self,
        store: &mut VarStore,
    ) -> Result<(PipelineStep, BTreeMap<usize, PipelineEval>, PipelineMemory)> {
        let memory = self.memory(store)?;
        let step = "the pipeline's training step";
        check(step, &self.partition, &memory.step, REDUCE_STEP)?;
        let both = "the pipeline's training with its evaluation";
        check(both, &self.partition, &memory.peak, REDUCE_EVALUATION)?;
        let step = self.step.load(&self.partition, store)?;
        let host = spikelet_nn::device::cpu()?;
        let load = |(size, plan): (&usize, &EvalPlan)| {
            Ok((*size, plan.load(&self.partition, &host, store)?))
        };
        let evaluation = self.evaluation.iter().map(load).collect::<Result<_>>()?;
        Ok((
            step.with_peak(memory.peak.devices.clone()),
            evaluation,
            memory,
        ))
    }
}

impl PipelineStep {
    /// Compiles a step for images of this shape. Parameters that the store does not have are initialized,
    /// each on the device of its stage.
    ///
    /// # Errors
    /// When shapes do not match, a device fails or has too little memory ([`Error::Memory`](spikelet_core::Error::Memory), before
    /// anything is allocated), or a setting is not implemented for pipelines.
    pub fn new(
        partition: &Partition,
        settings: &Settings,
        image: [usize; 3],
        store: &mut VarStore,
    ) -> Result<Self> {
        let plans = PipelinePlans::new(partition, settings, image, &BTreeSet::new())?;
        Ok(plans.load(store)?.0)
    }
}
