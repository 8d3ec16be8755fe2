//! The memory of a run: the plans of the training step and the evaluation, and whether the device has enough
//! memory.
//!
//! The training step and the evaluation run one after the other and share an arena. By default, the evaluation
//! batch has as many images as fit into the arena of the training step.

use super::Settings;
use super::forward::{Forward, USEFUL, batches};
use super::free_memory::{LESS_FOR_EVALUATION, check_free, missing, own_bytes, shared_bytes};
use super::step::{
    BatchShape, EvalPlan, EvalStep, Monitor, ProbePlan, ProbeStep, RankInfo, SampleBatch,
    SampleShape, Step, StepPlan, TrainStep,
};
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

    fn of(step: &StepPlan, evaluation: &[&Plan], batch: usize) -> Self {
        let training: Vec<&Plan> = step.plans().collect();
        let all: Vec<&Plan> = step.plans().chain(evaluation.iter().copied()).collect();
        Self {
            step: shared_bytes(&training),
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
    /// The forward passes for the report.
    report: Vec<EvalPlan>,
    /// The forward pass that measures firing rates in training, if there is one.
    sampled: Option<EvalPlan>,
    /// The measurement of training batches, if it needs next to no memory.
    probe: Option<ProbePlan>,
    memory: RunMemory,
}

impl RunPlans {
    /// Plans the training and the evaluation of a network on samples of a shape, such as the channels, height and width
    /// of images; `tested` has the number of samples of each data set that is evaluated.
    ///
    /// # Errors
    /// When shapes do not match, the memory budget is too small, or the device has no kernel for an operation.
    pub fn new(
        module: &dyn Module,
        settings: &Settings,
        sample: impl Into<SampleShape>,
        tested: &[usize],
        device: &dyn Target,
    ) -> Result<Self> {
        let shape = SampleBatch {
            batch: settings.batch_size,
            sample: sample.into(),
        };
        let steps = RunSteps {
            train: Step::classifier(module, settings, shape)?,
            eval: Step::classifier_eval(module, settings, shape)?.outputs(false),
            report: vec![],
            sampled: None,
            evaluation_batch: settings.evaluation_batch,
            tested: tested.to_vec(),
        };
        steps.plan(device, Ok)
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
        let others = self.report.iter().chain(&self.sampled);
        let others = others.map(EvalPlan::plan);
        let probe = self.probe.iter().map(ProbePlan::plan);
        self.evaluation().chain(others).chain(probe)
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
        let training: Vec<&Plan> = self.step.plans().collect();
        check("the training step", &training, LESS_FOR_A_STEP)?;
        let all: Vec<&Plan> = self.forward_passes().chain(training).collect();
        check("training with its evaluation", &all, LESS_FOR_EVALUATION)
    }

    /// Loads all plans into one arena. Evaluations use the averaged weights, if there are any.
    pub(super) fn load(self, store: &mut VarStore) -> Result<Loaded> {
        let all = self.forward_passes().chain(self.step.plans());
        if let Some(largest) = all.max_by_key(|plan| plan.arena_bytes) {
            store.arena(largest)?;
        }
        let averages = self.step.averages();
        let step = self.step.load(store)?;
        let sampled = self.sampled.map(|plan| plan.load(store)).transpose()?;
        let probe = self.probe.map(|plan| plan.load(store)).transpose()?;
        let mut averaged = averages.then(|| step.averaged(store)).transpose()?;
        let weights = averaged.as_mut().unwrap_or(store);
        let evaluation = self.evaluation.into_iter().map(|plan| plan.load(weights));
        Ok(Loaded {
            step,
            evaluation: evaluation.collect::<Result<_>>()?,
            sampled,
            probe,
            averaged,
        })
    }
}

/// The programs of a run on one device.
pub(super) struct Loaded {
    pub(super) step: TrainStep,
    pub(super) evaluation: Vec<EvalStep>,
    pub(super) sampled: Option<EvalStep>,
    pub(super) probe: Option<ProbeStep>,
    /// The averaged weights under the names of the weights.
    pub(super) averaged: Option<VarStore>,
}

/// How to lower the memory of a training step.
const LESS_FOR_A_STEP: &str = "use a smaller batch (--batch-size), fewer time steps (--time-steps), \
16-bit elements (--precision bf16), a memory budget (--memory-budget), or a pipeline of several \
devices (--pipeline)";

/// How to find the first value that is not finite with less memory.
const LESS_FOR_A_SEARCH: &str = "use a first device with more memory, or train on one device";

/// The steps of a run, and the sizes of the evaluated data sets.
pub(super) struct RunSteps<'a> {
    /// The training step.
    pub(super) train: Step<'a>,
    /// The step of evaluations, without outputs.
    pub(super) eval: Step<'a>,
    /// The evaluations for the report.
    pub(super) report: Vec<Step<'a>>,
    /// The step whose forward pass measures firing rates in training, if they are asked for.
    pub(super) sampled: Option<Step<'a>>,
    /// The number of samples of an evaluation batch, if it is given.
    pub(super) evaluation_batch: Option<usize>,
    /// The number of samples of each evaluated data set.
    pub(super) tested: Vec<usize>,
}

impl RunSteps<'_> {
    /// Adds monitors: of gradients to training, of layers to evaluations. Firing rates in training are those of a
    /// separate forward pass, which changes neither the speed nor the bits of the other steps.
    pub(super) fn monitor(&mut self, monitors: &[(Monitor, String)]) {
        let untouched = self.train.clone().outputs(false);
        for (monitor, pattern) in monitors {
            let add = |step: &mut Step<'_>| *step = step.clone().monitor(*monitor, pattern);
            match monitor {
                Monitor::Gradient => add(&mut self.train),
                Monitor::Rate => {
                    add(&mut self.eval);
                    add(self.sampled.get_or_insert(untouched.clone()));
                }
                _ => add(&mut self.eval),
            }
        }
    }

    /// Plans the training step and the evaluation; nothing is allocated. `agree` maps the evaluation batch of
    /// this rank to that of all ranks.
    pub(super) fn plan(
        &self,
        device: &dyn Target,
        agree: impl FnOnce(usize) -> Result<usize>,
    ) -> Result<RunPlans> {
        let Self {
            train,
            eval,
            report,
            sampled,
            ..
        } = self;
        let budget = train.budget();
        let evaluation = Forward {
            step: eval,
            batch: self.evaluation_batch,
            device,
        };
        let forward = |step| Forward { step, ..evaluation };
        let report: Vec<Forward<'_>> = report.iter().map(forward).collect();
        let sampled = sampled.as_ref().map(forward);
        let mut others = 0;
        if budget.is_some() {
            others = self.reserved();
            for other in report.iter().chain(&sampled) {
                let samples = other.step.samples();
                others += own_bytes(other.unlimited(samples, device)?.plan());
            }
        }
        let step = train.plan_beside(device, others)?;
        for plan in step.plans() {
            plan.check_target(device)?;
        }
        let arenas = step.plans().map(|plan| plan.arena_bytes);
        let limit = arenas.max().unwrap_or(0);
        let batch = agree(evaluation.batch(&self.tested, limit, self.most())?)?;
        let limit = budget.map(|_| limit);
        let plan = |forward: Forward<'_>| forward.plan(forward.step.samples(), limit);
        let report = report.into_iter().map(plan).collect::<Result<Vec<_>>>()?;
        let sampled = sampled.map(plan).transpose()?;
        let sizes = batches(batch, &self.tested);
        let evaluation = sizes.into_iter().map(|size| evaluation.plan(size, limit));
        let evaluation = evaluation.collect::<Result<Vec<_>>>()?;
        let plans: Vec<&Plan> = (evaluation.iter().chain(&report).chain(&sampled))
            .map(EvalPlan::plan)
            .collect();
        let mut memory = RunMemory::of(&step, &plans, batch);
        let all: Vec<&Plan> = step.plans().chain(plans.iter().copied()).collect();
        let probe = self.probe(device, &all);
        if let Some((_, peak)) = &probe {
            memory.peak = *peak;
        }
        Ok(RunPlans {
            step,
            evaluation,
            report,
            sampled,
            probe: probe.map(|(plan, _)| plan),
            memory,
        })
    }

    /// The plan of the probe and the peak memory with it. `None` within a memory budget, if the step cannot be
    /// traced for a smaller batch, or if it would need noticeably more memory than the other plans.
    fn probe(&self, device: &dyn Target, others: &[&Plan]) -> Option<(ProbePlan, usize)> {
        if self.train.budget().is_some() {
            return None;
        }
        let peak = shared_bytes(others);
        let limit = peak + (peak / PROBE_SHARE).max(PROBE_BYTES);
        // A probe of the full batch has kernels of the training step. Its spikes are not stored as bits, and it keeps all
        // gradients: it may need more memory.
        let full = self.train.samples();
        [full, full.div_ceil(8)].into_iter().find_map(|batch| {
            let plan = self.train.with_batch(batch).plan_probe(device).ok()?;
            let all: Vec<&Plan> = others.iter().copied().chain([plan.plan()]).collect();
            let peak = shared_bytes(&all);
            (peak <= limit).then_some((plan, peak))
        })
    }

    /// The largest evaluation batch if none is given.
    fn most(&self) -> usize {
        match self.train.budget() {
            Some(_) => USEFUL.min(self.train.samples()),
            None => USEFUL,
        }
    }

    /// The bytes of the evaluation batches, one of each size, which the memory budget includes.
    fn reserved(&self) -> usize {
        let batch = self.evaluation_batch.unwrap_or(self.most());
        let sample = self.eval.input_bytes();
        let each = |size: usize| size * sample + OUTCOME;
        batches(batch, &self.tested).into_iter().map(each).sum()
    }
}

/// The module of a classifier, its settings, and the sizes of its data, for [`BuildEngine`](crate::engine::BuildEngine).
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
}

impl Task<'_> {
    /// The number of images of an evaluation batch that an engine splits into micro-batches.
    pub fn micro_batched(&self) -> usize {
        let longest = self.tested.iter().copied().max().unwrap_or(0);
        let own = self.settings.evaluation_batch;
        own.unwrap_or(USEFUL.min(longest).max(1))
    }
}

/// The memory of a probe: a hundredth of the run's, or 1 MiB.
const PROBE_SHARE: usize = 100;
const PROBE_BYTES: usize = 1 << 20;

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
