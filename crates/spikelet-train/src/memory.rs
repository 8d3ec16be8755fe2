//! The memory of a run: the plans of the training step and the evaluation, and whether the device has enough
//! memory.
//!
//! The training step and the evaluation run one after the other and share an arena. By default, the evaluation
//! batch has as many images as fit into the arena of the training step.

use super::Settings;
use super::forward::{Forward, USEFUL, batches};
use super::free_memory::{LESS_FOR_EVALUATION, check_free, missing, own_bytes, shared_bytes};
use super::step::{BatchShape, EvalPlan, EvalStep, RankInfo, Step, StepPlan, TrainStep};
use spikelet_core::Result;
use spikelet_graph::{Backend, DeviceKind, Plan, Target, TensorType};
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::fmt;

/// The memory of a run on its device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The training step: arena, parameters, tensors of the optimizer, a batch.
    pub step: usize,
    /// The evaluation: arena, parameters, a batch of each of its sizes, and the examples of the report.
    pub evaluation: usize,
    /// Both: the larger arena and all buffers.
    pub peak: usize,
    /// The number of images of an evaluation batch.
    pub evaluation_batch: usize,
}

impl RunMemory {
    /// The total memory of several devices; that of the evaluation is the part that the step does not need.
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
            evaluation: shared_bytes(evaluation),
            peak: shared_bytes(&all),
            evaluation_batch: batch,
        }
    }
}

/// The plans of a run on one device. Nothing is allocated yet.
pub struct RunPlans {
    step: StepPlan,
    evaluation: Vec<EvalPlan>,
    /// The forward pass for the examples of the report, if there is one.
    report: Option<EvalPlan>,
    memory: RunMemory,
}

impl RunPlans {
    /// Plans the training and the evaluation of a network on images of `image` channels, height and
    /// width; `tested` has the number of images of each data set that is evaluated.
    ///
    /// # Errors
    /// When shapes do not match, the memory budget is too small, or the device has no kernel for an operation.
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

    /// The plans other than the training step.
    fn forward_passes(&self) -> impl Iterator<Item = &Plan> {
        self.evaluation()
            .chain(self.report.as_ref().map(EvalPlan::plan))
    }

    /// The memory of the plans.
    pub fn memory(&self) -> RunMemory {
        self.memory
    }

    /// Checks that the device has enough memory, in addition to the tensors of the store. Each of the
    /// `ranks` that use the memory of the device needs the same amount.
    pub(super) fn check(&self, device: &dyn Backend, store: &VarStore, ranks: usize) -> Result<()> {
        let place = match device.kind() {
            DeviceKind::Cpu => "this host",
            _ => "this GPU",
        };
        let check = |program: &str, plans: &[&Plan], help: &str| {
            let needed = missing(plans, Some(store)).saturating_mul(ranks);
            let (program, fewer) = match ranks {
                1 => (program.to_string(), String::new()),
                _ => (
                    format!("{program} of {ranks} ranks on {place}"),
                    format!("start fewer ranks on {place}, or "),
                ),
            };
            check_free(&program, needed, device, &format!("{fewer}{help}"))
        };
        check("the training step", &[self.step()], LESS_FOR_A_STEP)?;
        let all: Vec<&Plan> = self.forward_passes().chain([self.step()]).collect();
        check("training with its evaluation", &all, LESS_FOR_EVALUATION)
    }

    /// Loads all plans into one arena.
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
16-bit elements (--precision bf16), a memory budget (--memory-budget), or a pipeline of several \
devices (--pipeline)";

/// How to find the first value that is not finite with less memory.
const LESS_FOR_A_SEARCH: &str = "use a first device with more memory, or train on one device";

/// The module of a run, its settings, and the sizes of its data.
pub struct Task<'a> {
    /// The module.
    pub module: &'a dyn Module,
    /// The settings.
    pub settings: &'a Settings,
    /// The shape of a training batch.
    pub shape: BatchShape,
    /// This rank.
    pub place: RankInfo,
    /// The number of images of each evaluated data set.
    pub tested: &'a [usize],
    /// The number of images in the report; 0 without a report.
    pub examples: usize,
}

impl Task<'_> {
    /// Plans the training step and the evaluation; nothing is allocated. `agree` maps the evaluation batch of
    /// this rank to that of all ranks.
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
                let report = evaluation.unlimited(examples, true, device)?;
                others += own_bytes(report.plan());
            }
        }
        let step = Step::classifier(module, settings, shape)?
            .rank(place, settings.sync_batch_norm)
            .plan_beside(device, others)?;
        step.plan().check_target(device)?;
        let limit = step.plan().arena_bytes;
        let batch = agree(evaluation.batch(tested, limit, self.most())?)?;
        let limit = settings.memory_budget.map(|_| limit);
        let report = (examples > 0).then(|| evaluation.plan(examples, true, limit));
        let report = report.transpose()?;
        let sizes = batches(batch, tested);
        let evaluation = sizes
            .into_iter()
            .map(|size| evaluation.plan(size, false, limit));
        let evaluation = evaluation.collect::<Result<Vec<_>>>()?;
        let plans: Vec<&Plan> = (evaluation.iter().chain(&report))
            .map(EvalPlan::plan)
            .collect();
        let memory = RunMemory::of(step.plan(), &plans, batch);
        Ok(RunPlans {
            step,
            evaluation,
            report,
            memory,
        })
    }

    /// The number of images of an evaluation batch that an engine splits into micro-batches.
    pub fn micro_batched(&self) -> usize {
        let longest = self.tested.iter().copied().max().unwrap_or(0);
        let own = self.settings.evaluation_batch;
        own.unwrap_or(USEFUL.min(longest).max(1))
    }

    /// The largest evaluation batch if none is set.
    fn most(&self) -> usize {
        match self.settings.memory_budget {
            Some(_) => USEFUL.min(self.shape.batch),
            None => USEFUL,
        }
    }

    /// The bytes of the evaluation batches, one of each size, which the memory budget includes.
    fn reserved(&self) -> usize {
        let batch = self.settings.evaluation_batch.unwrap_or(self.most());
        let image = 4 * self.shape.image.iter().product::<usize>() + size_of::<i64>();
        let each = |size: usize| size * image + OUTCOME;
        batches(batch, self.tested).into_iter().map(each).sum()
    }
}

/// The bytes of the loss, the number of correct images and the state of the generator.
const OUTCOME: usize = 64;

/// Checks that a device has enough memory for copies of all tensors of a store.
pub(super) fn check_gathered(store: &VarStore, device: &dyn Backend) -> Result<()> {
    let types = store.names().filter_map(|name| store.ty(name));
    let needed = types.map(TensorType::bytes).fold(0, usize::saturating_add);
    check_free(
        "a copy of all parameters, to find the first value that is not finite,",
        needed,
        device,
        LESS_FOR_A_SEARCH,
    )
}

impl fmt::Debug for RunPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPlans")
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("settings", self.settings)
            .field("shape", &self.shape)
            .field("rank", &self.place)
            .field("tested", &self.tested)
            .finish_non_exhaustive()
    }
}
