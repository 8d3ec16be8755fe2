//! The memory of a run: how many images evaluation takes at once, and whether the device has
//! enough for everything.
//!
//! The training step and the evaluation run one after the other and share an arena. Unless it is
//! set otherwise, evaluation takes as many images as fit into the training step's.

use super::{BatchShape, EvalPlan, EvalStep, RankInfo, Settings, StepPlan, TrainStep};
use spikelet_core::{Error, Result};
use spikelet_graph::{
    Backend, DeviceKind, Graph, InPlaceUpdates, InputKind, Node, Plan, SchedulingPolicy,
    SpikeStorage, Target, TensorType, ValueId, WorkspaceQuery,
};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::collections::{BTreeMap, BTreeSet};

/// Images of an evaluation's batch with more of which no device is faster.
const USEFUL: usize = 500;

/// The memory that a run takes of its device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The training step alone: its arena, parameters, the optimizer's tensors, a batch.
    pub step: usize,
    /// The evaluation alone: its arena, parameters, a batch of each size that it has, and the examples
    /// of the picture.
    pub evaluation: usize,
    /// Both: the larger arena, and all buffers.
    pub peak: usize,
    /// Images that are evaluated at once.
    pub evaluation_batch: usize,
}

impl RunMemory {
    /// The memory of several devices together; that of the evaluation is its addition to the step's.
    pub fn for_devices(step: usize, peak: usize, batch: usize) -> Self {
        Self {
            step,
            evaluation: peak.saturating_sub(step),
            peak,
            evaluation_batch: batch,
        }
    }

    fn of(step: &Plan, evaluation: &[&Plan], batch: usize) -> Self {
        let all: Vec<&Plan> = [step]
            .into_iter()
            .chain(evaluation.iter().copied())
            .collect();
        Self {
            step: step.peak_bytes(),
            evaluation: together(evaluation),
            peak: together(&all),
            evaluation_batch: batch,
        }
    }
}

/// The memory of programs that share an arena and the tensors that outlive them.
fn together(plans: &[&Plan]) -> usize {
    let arena = plans.iter().map(|plan| plan.arena_bytes).max();
    let mut lasting = BTreeMap::new();
    for plan in plans {
        let inputs = plan
            .graph
            .inputs
            .iter()
            .filter(|i| i.kind != InputKind::Data);
        lasting.extend(inputs.map(|i| (i.name.as_str(), plan.graph.ty(i.value).bytes())));
    }
    let own = plans.iter().map(|plan| own_bytes(plan));
    let parts = own.chain(lasting.into_values()).chain(arena);
    parts.fold(0, usize::saturating_add)
}

/// Bytes of the buffers that a program does not share: its batch and its outputs.
fn own_bytes(plan: &Plan) -> usize {
    let inputs = plan
        .graph
        .inputs
        .iter()
        .filter(|i| i.kind == InputKind::Data);
    let outputs = plan.graph.outputs.iter().filter(|o| o.updates.is_none());
    let values = inputs.map(|i| i.value).chain(outputs.map(|o| o.value));
    let bytes = values.map(|v| plan.graph.ty(v).bytes());
    bytes.fold(0, usize::saturating_add)
}

/// The plans of a run on one device; nothing is allocated for them yet.
pub struct RunPlans {
    step: StepPlan,
    evaluation: Vec<EvalPlan>,
    /// The examples of the run's report, if it has one.
    picture: Option<EvalPlan>,
    memory: RunMemory,
}

impl RunPlans {
    /// Plans the training and the evaluation of a network on images of `image` channels, height and
    /// width; `tested` has the number of images of each data set that is evaluated.
    ///
    /// # Errors
    /// When shapes do not fit, the memory budget is too small, or the device has no kernel for
    /// something.
    pub fn new(
        module: &dyn Module,
        settings: &Settings,
        image: [usize; 3],
        tested: &[usize],
        device: &dyn Target,
    ) -> Result<Self> {
        let task = Task {
            module,
            settings,
            shape: BatchShape {
                batch: settings.batch_size,
                image,
            },
            place: RankInfo::default(),
            tested,
            examples: 0,
        };
        task.plan(device, Ok)
    }

    /// The plan of a training step.
    pub fn step(&self) -> &Plan {
        self.step.plan()
    }

    /// The plans of the evaluation: of a full batch, and of the remainder of a data set.
    pub fn evaluation(&self) -> impl Iterator<Item = &Plan> {
        self.evaluation.iter().map(EvalPlan::plan)
    }

    /// The programs besides the training step.
    fn forward_passes(&self) -> impl Iterator<Item = &Plan> {
        self.evaluation()
            .chain(self.picture.as_ref().map(EvalPlan::plan))
    }

    /// Their memory.
    pub fn memory(&self) -> RunMemory {
        self.memory
    }

    /// Checks that the device has enough memory, besides the tensors of the store. The processors
    /// of a host share its memory: each of its `ranks_on_host` ranks takes as much of it.
    pub(super) fn check(
        &self,
        device: &dyn Backend,
        store: &VarStore,
        ranks_on_host: usize,
    ) -> Result<()> {
        let ranks = match device.kind() {
            DeviceKind::Cpu => ranks_on_host,
            _ => 1,
        };
        let check = |program: &str, plans: &[&Plan], help: &str| {
            let needed = missing(plans, Some(store)).saturating_mul(ranks);
            let (program, fewer) = match ranks {
                1 => (program.to_string(), ""),
                _ => (
                    format!("{program} of {ranks} ranks on this host"),
                    "start fewer ranks on this host, or ",
                ),
            };
            check_free(&program, needed, device, &format!("{fewer}{help}"))
        };
        check("the training step", &[self.step()], LESS_FOR_A_STEP)?;
        let all: Vec<&Plan> = self.forward_passes().chain([self.step()]).collect();
        check("training with its evaluation", &all, LESS_FOR_EVALUATION)
    }

    /// Makes everything ready to run, in one arena.
    pub(super) fn load(self, store: &mut VarStore) -> Result<(TrainStep, Vec<EvalStep>)> {
        let all = self.forward_passes().chain([self.step()]);
        if let Some(largest) = all.max_by_key(|plan| plan.arena_bytes) {
            store.arena(largest)?;
        }
        let step = self.step.load(store)?;
        let evaluation = self.evaluation.into_iter().map(|plan| plan.load(store));
        Ok((step, evaluation.collect::<Result<_>>()?))
    }
}

/// How to lower the memory of a training step.
const LESS_FOR_A_STEP: &str = "use a smaller batch (--batch-size), fewer time steps (--time-steps), \
numbers of 16 bits (--precision bf16), a memory budget (--memory-budget), or a pipeline of several \
devices (--pipeline)";

/// How to lower the memory of an evaluation.
pub(super) const LESS_FOR_EVALUATION: &str = "evaluate fewer images at once (--eval-batch-size), or use \
fewer time steps (--time-steps) or numbers of 16 bits (--precision bf16)";

/// The task of a run: the module, its settings, and the sizes of its data.
pub struct Task<'a> {
    /// The module.
    pub module: &'a dyn Module,
    /// The settings.
    pub settings: &'a Settings,
    /// A training batch.
    pub shape: BatchShape,
    /// This rank.
    pub place: RankInfo,
    /// Images of each evaluated data set.
    pub tested: &'a [usize],
    /// Images of the run's report; 0 without one.
    pub examples: usize,
}

impl Task<'_> {
    /// Plans step and evaluation, and allocates nothing. What `agree` makes of the evaluation's
    /// batch is taken.
    pub(super) fn plan(
        &self,
        device: &dyn Target,
        agree: impl FnOnce(usize) -> Result<usize>,
    ) -> Result<RunPlans> {
        let Self {
            module,
            settings,
            shape,
            place,
            tested,
            examples,
        } = *self;
        let evaluation = Forward {
            module,
            settings,
            image: shape.image,
            device,
        };
        let mut others = 0;
        if settings.memory_budget.is_some() {
            others = self.reserved();
            if examples > 0 {
                let picture = evaluation.unlimited(examples, true, device)?;
                others += own_bytes(picture.plan());
            }
        }
        let step = TrainStep::plan_beside(module, settings, shape, place, device, others)?;
        step.plan().check_target(device)?;
        let limit = step.plan().arena_bytes;
        let batch = agree(evaluation.batch(tested, limit, self.most())?)?;
        let limit = settings.memory_budget.map(|_| limit);
        let picture = (examples > 0).then(|| evaluation.plan(examples, true, limit));
        let picture = picture.transpose()?;
        let sizes = batches(batch, tested);
        let evaluation = sizes
            .into_iter()
            .map(|size| evaluation.plan(size, false, limit));
        let evaluation = evaluation.collect::<Result<Vec<_>>>()?;
        let plans: Vec<&Plan> = (evaluation.iter().chain(&picture))
            .map(EvalPlan::plan)
            .collect();
        let memory = RunMemory::of(step.plan(), &plans, batch);
        Ok(RunPlans {
            step,
            evaluation,
            picture,
            memory,
        })
    }

    /// Images of an evaluation batch that an engine splits into micro-batches.
    pub fn micro_batched(&self) -> usize {
        let longest = self.tested.iter().copied().max().unwrap_or(0);
        let own = self.settings.evaluation_batch;
        own.unwrap_or(USEFUL.min(longest).max(1))
    }

    /// The most images that an evaluation's batch may have unless it is set.
    fn most(&self) -> usize {
        match self.settings.memory_budget {
            Some(_) => USEFUL.min(self.shape.batch),
            None => USEFUL,
        }
    }

    /// The part of a memory budget that the evaluation's own batches take: one of each size.
    fn reserved(&self) -> usize {
        let batch = self.settings.evaluation_batch.unwrap_or(self.most());
        let image = 4 * self.shape.image.iter().product::<usize>() + size_of::<i64>();
        let each = |size: usize| size * image + OUTCOME;
        batches(batch, self.tested).into_iter().map(each).sum()
    }
}

/// Bytes of loss, hits and the generator's state of an evaluation.
const OUTCOME: usize = 64;

/// Evaluates a network.
pub(super) struct Forward<'a> {
    pub(super) module: &'a dyn Module,
    pub(super) settings: &'a Settings,
    pub(super) image: [usize; 3],
    pub(super) device: &'a dyn Target,
}

impl Forward<'_> {
    /// Images of a batch: the setting, or at most as many as fit into an arena of `limit` bytes.
    pub(super) fn batch(&self, tested: &[usize], limit: usize, most: usize) -> Result<usize> {
        if let Some(batch) = self.settings.evaluation_batch {
            return Ok(batch);
        }
        let longest = tested.iter().copied().max().unwrap_or(0);
        let need = |target: &dyn Target, batch| -> Result<Option<usize>> {
            let plan = self.unlimited(batch, false, target)?;
            let fits = plan.plan().check_target(target).is_ok();
            Ok(fits.then(|| plan.plan().arena_bytes))
        };
        // Asking for workspaces may take seconds, in which a device measures kernels.
        let without = WithoutWorkspaces(self.device);
        let batch = fitting(most.min(longest), limit, |batch| need(&without, batch))?;
        let batch = fitting(batch, limit, |batch| need(self.device, batch))?;
        Ok(even(batch, tested))
    }

    /// Images of a batch where there is no training: as many as training would evaluate at once, if
    /// the device has memory for them.
    pub(super) fn batch_alone(&self, tested: &[usize], free: usize) -> Result<usize> {
        let Self {
            module,
            settings,
            image,
            device,
        } = *self;
        let shape = BatchShape {
            batch: settings.batch_size,
            image,
        };
        let target = WithoutWorkspaces(device);
        let step = TrainStep::plan(module, settings, shape, RankInfo::default(), &target);
        // A model whose training step cannot be planned can still be evaluated.
        let limit = step.map_or(free, |step| step.plan().arena_bytes);
        self.batch(tested, limit.min(free - free / 8), USEFUL)
    }

    fn unlimited(&self, batch: usize, sequence: bool, target: &dyn Target) -> Result<EvalPlan> {
        let Self {
            module,
            settings,
            image,
            ..
        } = *self;
        let shape = BatchShape { batch, image };
        EvalStep::plan_within(module, settings, shape, sequence, target, None)
    }

    /// The plan of a batch, which the device has kernels for, with an arena of at most `limit`
    /// bytes if there is a limit; with `sequence`, the network's output at every step is kept.
    pub(super) fn plan(
        &self,
        batch: usize,
        sequence: bool,
        limit: Option<usize>,
    ) -> Result<EvalPlan> {
        let Self {
            module,
            settings,
            image,
            device,
        } = *self;
        let mut plan = self.unlimited(batch, sequence, device)?;
        if let Some(limit) = limit
            && plan.plan().arena_bytes > limit
        {
            let bytes = limit + plan.plan().buffer_bytes();
            let budget = Some(spikelet_core::MemoryBudget::Bytes(bytes as u64));
            let shape = BatchShape { batch, image };
            plan = EvalStep::plan_within(module, settings, shape, sequence, device, budget)
                .map_err(|error| of_evaluation(batch, &error))?;
        }
        let checked = plan.plan().check_target(device);
        checked.map_err(|error| of_evaluation(batch, &error.into()))?;
        Ok(plan)
    }
}

fn of_evaluation(batch: usize, error: &Error) -> Error {
    Error::invalid(
        format!("evaluation of {batch} images at once"),
        error.to_string(),
        "evaluate fewer at once (evaluation_batch, --eval-batch-size), or use fewer time steps",
    )
}

/// The sizes of the batches of data sets.
pub fn batches(batch: usize, tested: &[usize]) -> BTreeSet<usize> {
    let sizes = tested.iter().flat_map(|len| [batch.min(*len), len % batch]);
    sizes.filter(|size| *size > 0).collect()
}

/// The largest batch found, of at most `most`, whose program needs at most `limit` bytes; `need`
/// gives nothing for one that the device cannot run. One image is taken in any case.
fn fitting(
    most: usize,
    limit: usize,
    mut need: impl FnMut(usize) -> Result<Option<usize>>,
) -> Result<usize> {
    let mut batch = most.max(1);
    while batch > 1 {
        let next = match need(batch)? {
            Some(bytes) if bytes <= limit => break,
            Some(bytes) => (batch as u128 * limit as u128 / bytes as u128) as usize,
            None => batch / 2,
        };
        batch = next.min(batch - batch.div_ceil(16)).max(1);
    }
    Ok(batch)
}

/// The batch, or a slightly smaller one that leaves no rest: a rest is one more program.
fn even(batch: usize, tested: &[usize]) -> usize {
    let whole = |size: &usize| tested.iter().all(|len| len % size == 0);
    let near = (batch - batch / 4..=batch).rev();
    near.into_iter().find(whole).unwrap_or(batch)
}

/// Refuses programs that a device has not enough memory for; some of their tensors may be in a store
/// of it already.
pub(super) fn check_room(
    program: &str,
    plans: &[&Plan],
    device: &dyn Backend,
    store: Option<&VarStore>,
    help: &str,
) -> Result<()> {
    check_free(program, missing(plans, store), device, help)
}

/// The memory of programs besides the tensors of the store.
fn missing(plans: &[&Plan], store: Option<&VarStore>) -> usize {
    let inputs = plans.iter().flat_map(|plan| &plan.graph.inputs);
    let names: BTreeSet<&str> = inputs.map(|input| input.name.as_str()).collect();
    let there = names.iter().filter_map(|name| store?.ty(name));
    let there: usize = there.map(TensorType::bytes).sum();
    together(plans).saturating_sub(there)
}

/// Refuses a program that needs more than the device has free.
pub(super) fn check_free(
    program: &str,
    needed: usize,
    device: &dyn Backend,
    help: &str,
) -> Result<()> {
    let Some(memory) = device.memory() else {
        return Ok(());
    };
    if needed <= memory.available {
        return Ok(());
    }
    Err(Error::Memory {
        program: program.to_string(),
        device: device.name(),
        needed,
        available: memory.available,
        total: memory.total,
        help: help.to_string(),
    })
}

/// A device whose kernels need no workspaces.
struct WithoutWorkspaces<'a>(&'a dyn Target);

impl WorkspaceQuery for WithoutWorkspaces<'_> {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for WithoutWorkspaces<'_> {
    fn reads_bits(&self, graph: &Graph, node: &Node, operand: usize) -> bool {
        self.0.reads_bits(graph, node, operand)
    }

    fn writes_bits(&self, graph: &Graph, node: &Node, value: ValueId) -> bool {
        self.0.writes_bits(graph, node, value)
    }
}

impl SchedulingPolicy for WithoutWorkspaces<'_> {
    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        self.0.sums_channels(graph, node)
    }

    fn chunk_elements(&self) -> usize {
        self.0.chunk_elements()
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        self.0.scan_checkpoint(graph, node)
    }
}

impl InPlaceUpdates for WithoutWorkspaces<'_> {
    fn overwrites_sequences(&self) -> bool {
        self.0.overwrites_sequences()
    }
}

impl Target for WithoutWorkspaces<'_> {
    fn check_node(&self, graph: &Graph, node: &Node) -> spikelet_graph::Result<()> {
        self.0.check_node(graph, node)
    }
}
