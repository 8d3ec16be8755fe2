//! The graphs of a step: forward pass, backward pass, accumulated gradients, updates, averages.

use super::error::StepError;
use super::groups::{Assignment, Names};
use super::inputs::Inputs;
use super::metrics::{MetricInfo, MetricSet};
use super::observed::ObservedLayer;
use super::outputs::Outputs;
use super::{Layout, RecordedValues, Step, penalties};
use crate::metric::{LOSS, Metric};
use crate::optim::{Limited, scalar_inputs_of, update_with_prefix};
use crate::scaling::{LossScale, UpdateGuard, count_not_finite, scales_loss};
use spikelet_core::Result;
use spikelet_distributed::average_over_ranks;
use spikelet_expr::Expr;
use spikelet_graph::{DType, TensorType, Var};
use spikelet_nn::module::{Context, Mode, Trace, Traced, observer};

/// The kind of a program that is traced from a step's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    mode: Mode,
    /// Whether it is for the outputs only.
    predicts: bool,
    /// Whether sequences have a single time step.
    single_step: bool,
    /// Whether learning rules change weights outside training.
    pub(super) learns: bool,
}

impl Purpose {
    pub(crate) const EVALUATE: Self = Self {
        mode: Mode::EVAL,
        predicts: false,
        single_step: false,
        learns: false,
    };
    pub(crate) const PREDICT: Self = Self {
        predicts: true,
        ..Self::EVALUATE
    };
    /// The forward pass alone.
    pub(super) fn of(mode: Mode) -> Self {
        Self {
            mode,
            predicts: false,
            single_step: false,
            learns: false,
        }
    }
    pub(crate) const STREAM: Self = Self {
        mode: Mode::STREAM,
        single_step: true,
        ..Self::PREDICT
    };
    pub(crate) const LEARN: Self = Self {
        learns: true,
        ..Self::STREAM
    };
}

/// Whether a program of training updates the parameters, or adds to the accumulated gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Accumulate,
    Update,
}

/// Facts about a trace that its program needs.
#[derive(Clone)]
pub(super) struct TraceInfo {
    pub(super) metrics: MetricSet,
    /// The names and types of the function's outputs.
    pub(super) outputs: Vec<(String, TensorType)>,
    pub(super) gradients: Vec<String>,
    pub(super) activations: Vec<String>,
    pub(super) observed: Vec<ObservedLayer>,
    /// Whether the network's output at every step is observed.
    pub(super) observes_output: bool,
    pub(super) recorded: RecordedValues,
}

/// The sums of metrics, with the names of their outputs.
type NamedSums = Vec<(String, Var)>;

/// The tensors that are kept as averages: the average's name, then the tensor's.
pub(super) type Averages = Vec<(String, String)>;

pub(super) fn gradient_name(parameter: &str) -> String {
    format!("gradient {parameter}")
}

pub(crate) fn activation_name(path: &str) -> String {
    format!("activation {path}")
}

impl Step<'_> {
    /// The prefix of tensors that belong to this step.
    fn prefixed(&self, kind: &str) -> String {
        match self.name.as_str() {
            "" => kind.to_string(),
            name => format!("{kind}.{name}"),
        }
    }

    /// The prefix of the optimizer's tensors.
    pub(super) fn optimizer_prefix(&self) -> String {
        self.prefixed("optimizer")
    }

    /// The name of the average of a tensor.
    pub(crate) fn average_name(&self, tensor: &str) -> String {
        format!("{}.{tensor}", self.prefixed("ema"))
    }

    fn sum_name(&self, tensor: &str) -> String {
        format!("{}.{tensor}", self.prefixed("accumulated"))
    }

    /// Whether the loss is scaled.
    pub(super) fn scales_loss(&self) -> bool {
        scales_loss(self.precision_of())
    }

    /// Checks the definition.
    fn check(&self) -> Result<(), StepError> {
        let at_least_one = [
            ("the batch size", self.samples()),
            ("the number of accumulated batches", self.accumulated()),
        ];
        for (setting, given) in at_least_one {
            if given == 0 {
                return Err(StepError::Setting {
                    setting,
                    given: 0.0,
                    expected: "at least 1",
                });
            }
        }
        let decay = self.ema.unwrap_or(0.0);
        if !(0.0..1.0).contains(&decay) {
            return Err(StepError::Setting {
                setting: "the decay of the average",
                given: decay,
                expected: "at least 0 and below 1",
            });
        }
        let mut rates = (self.groups.groups.iter()).map(|group| group.optimizer.lr());
        if let Some(given) = rates.find(|lr| !lr.is_finite() || *lr < 0.0) {
            return Err(StepError::Setting {
                setting: "the learning rate",
                given,
                expected: "finite and at least 0",
            });
        }
        Ok(())
    }

    pub(super) fn context(&self, mode: Mode) -> Trace {
        let cx = Context::new(mode, DType::F32)
            .propagation(self.propagation_of())
            .precision(self.precision_of());
        match mode.training {
            true => cx.in_group(self.rank.ranks, self.sync_batch_norm),
            false => cx,
        }
    }

    /// A mode, with carried states if the step has them.
    fn carrying(&self, mode: Mode) -> Mode {
        Mode {
            carry_state: mode.carry_state || self.carry_states,
            ..mode
        }
    }

    /// Calls the function of the step.
    pub(super) fn call(&self, cx: &Trace, single_step: bool) -> Result<(Outputs, TraceInfo)> {
        self.check()?;
        let time_steps = single_step.then_some(1);
        let inputs = Inputs::declare(cx.tracer(), &self.inputs, self.samples(), time_steps);
        cx.tracer().check()?;
        let made = (self.function)(cx, &inputs);
        // An error of the trace precedes errors that follow from it.
        cx.tracer().check()?;
        let mut outputs = made?;
        if cx.mode().training {
            outputs = penalties::add(outputs, &self.penalties, cx)?;
        }
        for term in cx.traced().losses {
            outputs.loss = &outputs.loss + term;
        }
        if !outputs.loss.shape().is_empty() {
            let given = outputs.loss.ty().clone();
            return Err(StepError::LossShape { given }.into());
        }
        let described = outputs.outputs.iter();
        let described = described.map(|(name, value)| (name.clone(), value.ty().clone()));
        let info = TraceInfo {
            metrics: MetricSet::new(vec![]),
            outputs: described.collect(),
            gradients: vec![],
            activations: vec![],
            observed: vec![],
            observes_output: false,
            recorded: RecordedValues::default(),
        };
        Ok((outputs, info))
    }

    /// Traces the sums of the metrics, and of the monitors' metrics.
    fn metrics(
        &self,
        outputs: &Outputs,
        monitored: Vec<(String, Metric)>,
    ) -> Result<(NamedSums, MetricSet)> {
        let (mut sums, mut infos): (NamedSums, _) = (vec![], vec![]);
        let own = outputs.metrics.iter();
        let own = own.map(|(name, metric)| (name.clone(), metric.clone().metric(self.samples())));
        for (name, metric) in own.chain(monitored) {
            let ty = metric.sums().ty();
            if ty.shape.len() > 1 || ty.dtype != DType::F32 {
                let given = ty.clone();
                return Err(StepError::MetricShape { name, given }.into());
            }
            let kind = match name.as_str() == LOSS {
                true => Some("loss"),
                false => infos
                    .iter()
                    .any(|info: &MetricInfo| info.name == name)
                    .then_some("metric"),
            };
            if let Some(kind) = kind {
                return Err(StepError::MetricName { name, kind }.into());
            }
            let info = MetricInfo::new(&name, ty.len(), metric.function());
            sums.push((info.output().to_string(), metric.sums().clone()));
            infos.push(info);
        }
        Ok((sums, MetricSet::new(infos)))
    }

    /// Traces a program without training.
    pub(super) fn trace_forward(
        &self,
        purpose: Purpose,
        watching: bool,
    ) -> Result<(Trace, TraceInfo)> {
        let mut cx = self.context(self.carrying(purpose.mode));
        let recording = self.recording.as_ref();
        if purpose.learns || recording.is_some_and(|layers| layers.learns) {
            cx = cx.learning(self.time_steps());
        }
        if let Some(layers) = recording {
            cx = layers.prepare(cx);
        }
        let observes = !purpose.predicts && self.observed > 0;
        let watching =
            watching || recording.is_some_and(|layers| layers.watches()) || self.reads_on_request();
        if watching || observes || !purpose.predicts && self.monitors_potentials() {
            cx = cx.observer(observer::States);
        }
        if !purpose.predicts && self.monitors_spikes() {
            cx = cx.observer(observer::SpikeCounts);
        }
        if self.counts || !purpose.predicts && self.monitors_operations() {
            cx = cx.observer(observer::Operations);
        }
        let (outputs, mut info) = self.call(&cx, purpose.single_step)?;
        let tracer = cx.tracer();
        if !purpose.predicts {
            let mut monitored = self.layer_metrics(&cx, false)?;
            monitored.extend(self.synaptic_operation_metrics(&cx)?);
            monitored.extend(self.operation_metrics(&cx));
            let (sums, infos) = self.metrics(&outputs, monitored)?;
            tracer.output(LOSS, &outputs.loss);
            sums.iter().for_each(|(name, sum)| tracer.output(name, sum));
            info.metrics = infos;
        }
        if purpose.predicts || self.outputs[1] {
            let named = outputs.outputs.iter();
            named.for_each(|(name, value)| tracer.output(name, value));
        }
        info.activations = self.read_recorded(&cx)?;
        if observes {
            info.observed = self.trace_observed(&cx);
            info.observes_output = self.trace_observed_output(&cx, &outputs);
        }
        info.recorded = self.record_layers(&cx)?;
        if purpose.predicts {
            tracer.remove_unread_inputs();
        }
        tracer.check()?;
        Ok((cx, info))
    }

    /// Makes the recorded values of layers outputs.
    fn read_recorded(&self, cx: &Trace) -> Result<Vec<String>> {
        let recorded = cx.traced().recorded;
        let paths = recorded.iter().map(|(path, _)| path.as_str());
        check_all(&self.activations, paths)?;
        let read = recorded
            .iter()
            .filter(|(path, _)| self.activations.iter().any(|names| names.matches(path)));
        let read = read.map(|(path, value)| {
            cx.tracer().output(&activation_name(path), value);
            path.clone()
        });
        Ok(read.collect())
    }

    /// Traces a program of training.
    pub(super) fn trace_training(
        &self,
        phase: Phase,
    ) -> Result<(Trace, TraceInfo, Assignment, Averages)> {
        let cx = self.context(self.carrying(Mode::TRAIN));
        let (outputs, mut info) = self.call(&cx, false)?;
        let traced = cx.traced();
        let assignment = self.groups.assign(&traced)?;
        let tracer = cx.tracer();
        let trained = assignment.trained.iter();
        let weights: Vec<Var> = trained
            .filter_map(|trained| tracer.find_input(&trained.name))
            .collect();
        let scale = self.scales_loss().then(|| LossScale::new(tracer));
        let loss = &outputs.loss;
        let start = scale.as_ref().map_or(loss.clone(), |s| s.scaled(loss));
        let grads = tracer.gradients(&start, &weights.iter().collect::<Vec<_>>());
        // A division by zero where a gradient is not finite.
        let checks = self.checks_gradients && scale.is_none();
        let bad = checks.then(|| count_not_finite(&grads)).flatten();
        let checked = bad.map(|bad| {
            Var::map(&[loss, &bad], |x| {
                &x[0] / Expr::select(x[1].gt(0.0), 0.0, 1.0)
            })
        });
        let loss = checked.as_ref().unwrap_or(loss);
        let names = trained_names(&assignment);
        let scaled = scale.as_ref().map(LossScale::scale);
        let mut monitored = self.layer_metrics(&cx, true)?;
        monitored.extend(self.gradient_metrics(names, &grads, scaled, self.samples())?);
        let (sums, infos) = self.metrics(&outputs, monitored)?;
        info.metrics = infos;
        let mut averages = vec![];
        match phase {
            Phase::Accumulate => self.trace_sums(&cx, &assignment, &grads, loss),
            Phase::Update => {
                let (grads, guard) = self.mean_gradients(&cx, &assignment, grads, loss, scale);
                info.gradients = self.read_grads(&cx, &assignment, &grads)?;
                let grads = match self.clip {
                    Some(clip) => {
                        clip.check()?;
                        clip.apply(&grads)
                    }
                    None => grads,
                };
                if self.groups.gradient_noise.is_some() {
                    cx.generator();
                }
                averages = self.trace_updates(&cx, &traced, &assignment, &grads, &guard);
            }
        }
        tracer.output(LOSS, loss);
        sums.iter().for_each(|(name, sum)| tracer.output(name, sum));
        if self.outputs[0] {
            let named = outputs.outputs.iter();
            named.for_each(|(name, value)| tracer.output(name, value));
        }
        info.activations = self.read_recorded(&cx)?;
        tracer.check()?;
        Ok((cx, info, assignment, averages))
    }

    /// Adds the gradients and the loss to the accumulated ones.
    fn trace_sums(&self, cx: &Trace, assignment: &Assignment, grads: &[Var], loss: &Var) {
        let tracer = cx.tracer();
        let names = trained_names(assignment);
        let values = grads.iter().chain([loss]);
        for (name, value) in names.chain([LOSS]).zip(values) {
            let sum = tracer.state(&self.sum_name(name), value.shape());
            tracer.update(&sum, &(&sum + value));
        }
    }

    /// The mean gradients over accumulated batches and ranks, not scaled, and the condition of the update.
    fn mean_gradients(
        &self,
        cx: &Trace,
        assignment: &Assignment,
        mut grads: Vec<Var>,
        loss: &Var,
        scale: Option<LossScale>,
    ) -> (Vec<Var>, UpdateGuard) {
        let tracer = cx.tracer();
        // All ranks decide in the same way whether to update: by the mean of the losses.
        grads.push(loss.clone());
        if self.accumulated() > 1 {
            let names = trained_names(assignment);
            let summed = names.chain([LOSS]).zip(&grads).map(|(name, value)| {
                let sum = tracer.state(&self.sum_name(name), value.shape());
                tracer.update(&sum, &tracer.fill(DType::F32, value.shape(), 0.0));
                Var::map(&[&sum, value], |x| {
                    (&x[0] + &x[1]) / self.accumulated() as f64
                })
            });
            grads = summed.collect();
        }
        grads = average_over_ranks(grads, self.rank.ranks);
        let mean_loss = grads.pop().unwrap_or_else(|| loss.clone());
        match scale {
            Some(scale) => scale.unscaled(&grads),
            None => (grads, UpdateGuard::FiniteLoss(mean_loss)),
        }
    }

    /// Makes gradients outputs.
    fn read_grads(
        &self,
        cx: &Trace,
        assignment: &Assignment,
        grads: &[Var],
    ) -> Result<Vec<String>> {
        let names = trained_names(assignment);
        check_all(&self.gradients, names.clone())?;
        let read = names.zip(grads);
        let read = read.filter(|(name, _)| self.gradients.iter().any(|names| names.matches(name)));
        let read = read.map(|(name, grad)| {
            cx.tracer().output(&gradient_name(name), grad);
            name.to_string()
        });
        Ok(read.collect())
    }

    /// Traces the updates of the parameters and of the averages.
    fn trace_updates(
        &self,
        cx: &Trace,
        traced: &Traced,
        assignment: &Assignment,
        grads: &[Var],
        guard: &UpdateGuard,
    ) -> Averages {
        let tracer = cx.tracer();
        let groups = assignment.groups.iter().enumerate();
        let scalars: Vec<Vec<Var>> = groups
            .map(|(k, group)| scalar_inputs_of(tracer, &*group.optimizer, &group_name(k)))
            .collect();
        let prefix = self.optimizer_prefix();
        for (trained, grad) in assignment.trained.iter().zip(grads) {
            let Some(weight) = tracer.find_input(&trained.name) else {
                continue;
            };
            let optimizer = &*assignment.groups[trained.group].optimizer;
            let optimizer = &Limited::new(optimizer, trained.limits);
            let own = &scalars[trained.group];
            update_with_prefix(&prefix, optimizer, &trained.name, &weight, grad, own, guard);
        }
        let trained = assignment.trained.iter().map(|trained| &trained.name);
        let buffers = traced.buffers.iter().map(|buffer| &buffer.name);
        match self.ema {
            Some(decay) => self.trace_averages(cx, decay, trained.chain(buffers), guard),
            None => vec![],
        }
    }

    /// Traces the updates of the averages of tensors.
    fn trace_averages<'n>(
        &self,
        cx: &Trace,
        decay: f64,
        names: impl Iterator<Item = &'n String>,
        guard: &UpdateGuard,
    ) -> Averages {
        let tracer = cx.tracer();
        let mut averages = vec![];
        for name in names {
            let tensor = tracer.find_input(name);
            let Some(new) = tensor.and_then(|tensor| tracer.updated(&tensor)) else {
                continue;
            };
            let average = self.average_name(name);
            let old = tracer.state(&average, new.shape());
            let next = Var::map(&[&old, &new, guard.operand()], |x| {
                let next = &x[0] + (1.0 - decay) * (&x[1] - &x[0]);
                guard.choose(&x[2], &x[0], next)
            });
            tracer.update(&old, &next);
            averages.push((average, name.clone()));
        }
        averages
    }
}

/// The names of the trained parameters.
fn trained_names(assignment: &Assignment) -> impl Iterator<Item = &str> + Clone {
    assignment
        .trained
        .iter()
        .map(|trained| trained.name.as_str())
}

/// The name of a group among the inputs of a program: none for the first, which most steps have only.
pub(super) fn group_name(index: usize) -> String {
    match index {
        0 => String::new(),
        index => index.to_string(),
    }
}

/// Checks that every pattern is valid and matches a name.
pub(super) fn check_all<'a, 'p>(
    patterns: impl IntoIterator<Item = &'p Names>,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), StepError> {
    patterns
        .into_iter()
        .try_for_each(|pattern| pattern.check(names.clone()))
}

/// Whether values of the input must be given at each run.
pub(super) fn is_given(layout: Layout) -> bool {
    layout != Layout::Shared
}
