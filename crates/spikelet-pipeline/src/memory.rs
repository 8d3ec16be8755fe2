//! The memory that a pipeline needs on each device, computed before anything is allocated.

use super::dry_run::DryRun;
use super::forward::{EvalPlan, ForwardPlan, PipelineEval};
use super::partition::Partition;
use super::training::{PipelineStep, StepPlan};
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, DeviceKind};
use spikelet_nn::runtime::VarStore;
use spikelet_train::Settings;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How to reduce the memory of a training step.
const REDUCE_STEP: &str = "use smaller micro-batches (--split-size), a schedule with fewer of \
them in flight (--pipeline-schedule 1f1b), fewer time steps (--time-steps), a 16-bit precision \
(--precision bf16), or more devices (--pipeline)";

/// How to reduce the memory of an evaluation.
const REDUCE_EVALUATION: &str = "use smaller micro-batches (--split-size), evaluate fewer images at \
once (--eval-batch-size), or use fewer time steps (--time-steps) or a 16-bit precision (--precision bf16)";

/// The bytes on each device, and those of transfers on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceBytes {
    /// By device: parameters, optimizer tensors, arenas, the tensors of micro-batches in flight.
    pub(crate) devices: Vec<usize>,
    /// On the host, in addition to the CPU devices: transfers between other devices, and the loss of an
    /// evaluation.
    pub(crate) host: usize,
}

impl DeviceBytes {
    /// The sum over all devices and the host.
    pub(crate) fn total(&self) -> usize {
        self.devices
            .iter()
            .fold(self.host, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds the tensors of transfers, which are in the memory of the host.
    fn with_sent(mut self, partition: &Partition, sent: &[usize]) -> Self {
        for (k, (device, sent)) in partition.devices.iter().zip(sent).enumerate() {
            let at = match device.kind() {
                DeviceKind::Cpu => &mut self.devices[k],
                _ => &mut self.host,
            };
            *at = at.saturating_add(*sent);
        }
        self
    }
}

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

/// Checks that the devices have enough free memory for a forward pass.
pub(super) fn check_forward(
    plan: &ForwardPlan,
    partition: &Partition,
    seed: u64,
    store: &VarStore,
) -> Result<()> {
    let mut dry = DryRun::new(partition, store)?;
    dry.allocate(&plan.pipeline_plan.traced)?;
    let flow = plan.load(&dry.partition, seed, &mut dry.store)?;
    let bytes = dry.peaks().with_sent(partition, &flow.sent_bytes());
    let help = "use smaller micro-batches (split_size), fewer time steps, a 16-bit precision, or more devices";
    check("the pipeline's forward pass", partition, &bytes, help)
}

/// The devices that share a memory: all CPU devices, and all backends of one GPU.
pub(super) fn memories(devices: &[Arc<dyn Backend>]) -> Vec<Vec<usize>> {
    let mut shared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (k, device) in devices.iter().enumerate() {
        shared.entry(device.memory_name()).or_default().push(k);
    }
    shared.into_values().collect()
}

/// Checks that the devices have enough free memory. The requirements of devices that share a memory are
/// added, and those of the host belong to the CPU devices.
fn check(program: &str, partition: &Partition, bytes: &DeviceBytes, help: &str) -> Result<()> {
    let mut devices = partition.devices.clone();
    let mut needed = bytes.devices.clone();
    if bytes.host > 0 {
        devices.push(spikelet_nn::device::cpu()?);
        needed.push(bytes.host);
    }
    for shared in memories(&devices) {
        let known = shared.iter().filter_map(|k| devices[*k].memory());
        let Some(memory) = known.min_by_key(|memory| memory.available) else {
            continue;
        };
        let own = shared.iter().map(|k| needed[*k]);
        let needed = own.fold(0, usize::saturating_add);
        if needed > memory.available {
            let names: BTreeSet<String> = shared.iter().map(|k| devices[*k].name()).collect();
            return Err(Error::Memory {
                program: program.to_string(),
                device: Vec::from_iter(names).join(" and "),
                needed,
                available: memory.available,
                total: memory.total,
                help: help.to_string(),
            });
        }
    }
    Ok(())
}
