//! The memory of a pipeline: what each device needs, known before anything is allocated.

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

/// What lowers the memory of a training step.
const LESS_FOR_A_STEP: &str = "use smaller micro-batches (--split-size), a schedule that keeps fewer of \
them (--pipeline-schedule 1f1b), fewer time steps (--time-steps), numbers of 16 bits \
(--precision bf16), or more devices (--pipeline)";

/// What lowers the memory of an evaluation.
const LESS_FOR_EVALUATION: &str = "use smaller micro-batches (--split-size), evaluate fewer images at \
once (--eval-batch-size), or use fewer time steps (--time-steps) or numbers of 16 bits (--precision bf16)";

/// Bytes on each device, and those on the host beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceBytes {
    /// By device: parameters, optimizer tensors, arenas, what is kept of micro-batches under way.
    pub(crate) devices: Vec<usize>,
    /// On the host beside its processors' own: what is on its way between other devices, and the
    /// loss of an evaluation.
    pub(crate) host: usize,
}

impl DeviceBytes {
    /// Of all devices, and the host.
    pub(crate) fn total(&self) -> usize {
        self.devices
            .iter()
            .fold(self.host, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds what devices have on its way to others: it lies in the host's memory.
    fn with_sent(mut self, layout: &Partition, sent: &[usize]) -> Self {
        for (k, (device, sent)) in layout.devices.iter().zip(sent).enumerate() {
            let at = match device.kind() {
                DeviceKind::Cpu => &mut self.devices[k],
                _ => &mut self.host,
            };
            *at = at.saturating_add(*sent);
        }
        self
    }
}

/// The memory of a run through a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PipelineMemory {
    /// The training step by itself.
    pub(crate) step: DeviceBytes,
    /// With the evaluation, which is loaded beside it.
    pub(crate) peak: DeviceBytes,
}

/// The plans of a run through a pipeline; nothing is allocated for them yet.
pub(crate) struct PipelinePlans {
    layout: Partition,
    step: StepPlan,
    /// By images of a batch.
    evaluation: BTreeMap<usize, EvalPlan>,
}

impl PipelinePlans {
    /// Plans the training, and the evaluation of batches of these sizes.
    pub(crate) fn new(
        layout: &Partition,
        settings: &Settings,
        image: [usize; 3],
        evaluated: &BTreeSet<usize>,
    ) -> Result<Self> {
        let plan = |&size: &usize| Ok((size, EvalPlan::new(layout, settings, size, image)?));
        Ok(Self {
            layout: layout.clone(),
            step: StepPlan::new(layout, settings, image)?,
            evaluation: evaluated.iter().map(plan).collect::<Result<_>>()?,
        })
    }

    /// What the devices need beside the tensors that the store has already.
    pub(crate) fn memory(&self, store: &VarStore) -> Result<PipelineMemory> {
        let mut dry = DryRun::new(&self.layout, store)?;
        dry.allocate(&self.step.design.traced)?;
        let step = self.step.load(&dry.layout, &mut dry.store)?;
        let mut sent = step.sent_bytes();
        let alone = dry.peaks().with_sent(&self.layout, &sent);
        // All of them stay loaded, and run one after the other.
        let mut evaluation = vec![];
        for plan in self.evaluation.values() {
            let loaded = plan.load(&dry.layout, &dry.host(), &mut dry.store)?;
            for (most, own) in sent.iter_mut().zip(loaded.sent_bytes()) {
                *most = own.max(*most);
            }
            evaluation.push(loaded);
        }
        Ok(PipelineMemory {
            step: alone,
            peak: dry.peaks().with_sent(&self.layout, &sent),
        })
    }

    /// Makes everything ready to run, if the devices have room for it.
    pub(crate) fn load(
        &self,
        store: &mut VarStore,
    ) -> Result<(PipelineStep, BTreeMap<usize, PipelineEval>, PipelineMemory)> {
        let memory = self.memory(store)?;
        let step = "the pipeline's training step";
        check(step, &self.layout, &memory.step, LESS_FOR_A_STEP)?;
        let both = "the pipeline's training with its evaluation";
        check(both, &self.layout, &memory.peak, LESS_FOR_EVALUATION)?;
        let step = self.step.load(&self.layout, store)?;
        let host = spikelet_nn::device::cpu()?;
        let load =
            |(size, plan): (&usize, &EvalPlan)| Ok((*size, plan.load(&self.layout, &host, store)?));
        let evaluation = self.evaluation.iter().map(load).collect::<Result<_>>()?;
        Ok((
            step.with_peak(memory.peak.devices.clone()),
            evaluation,
            memory,
        ))
    }
}

/// Refuses a forward pass that the devices have not enough memory for, beside the store.
pub(super) fn check_forward(
    plan: &ForwardPlan,
    layout: &Partition,
    seed: u64,
    store: &VarStore,
) -> Result<()> {
    let mut dry = DryRun::new(layout, store)?;
    dry.allocate(&plan.design.traced)?;
    let flow = plan.load(&dry.layout, seed, &mut dry.store)?;
    let bytes = dry.peaks().with_sent(layout, &flow.sent_bytes());
    let help =
        "use smaller parts (split_size), fewer time steps, numbers of 16 bits or more devices";
    check("the pipeline's forward pass", layout, &bytes, help)
}

/// Devices that share a memory: all processors of the host, or the names of one GPU.
pub(super) fn memories(devices: &[Arc<dyn Backend>]) -> Vec<Vec<usize>> {
    let key = |device: &Arc<dyn Backend>| match device.kind() {
        DeviceKind::Cpu => String::new(),
        _ => device.name(),
    };
    let mut shared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (k, device) in devices.iter().enumerate() {
        shared.entry(key(device)).or_default().push(k);
    }
    shared.into_values().collect()
}

/// Refuses what the devices have not enough memory for; those that share a memory need theirs
/// together, and what is on the host beside them comes to its processors'.
fn check(program: &str, layout: &Partition, bytes: &DeviceBytes, help: &str) -> Result<()> {
    let mut devices = layout.devices.clone();
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
