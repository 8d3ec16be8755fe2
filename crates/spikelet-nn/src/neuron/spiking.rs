//! Every neuron is a layer.

use super::scope::NOISE;
use super::step::{StepDefinition, parts};
use super::{Granularity, Neuron, OutputKind, State, TrainableParam, unfused, warning};
use crate::LayerProblem;
use crate::module::{Context, Description, Module, Tree};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::{RandomAxes, Var};
use std::fmt;
use std::sync::Arc;

/// The number of spikes so far, a state of the step, and the name under which it is recorded.
const SPIKE_COUNT: &str = "spike_count";

/// `x_seq [T, N, …] → spike_seq [T, N, …]`. Parameters and states have the names that the
/// neuron defines; under [`Mode::STREAM`](crate::module::Mode::STREAM) states are carried between calls. A
/// neuron with a readout returns `[1, N, …]`.
impl<N: Neuron> Module for N {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        Ok(spiking(self, cx, x)?.out)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Neuron(self)
    }
}

/// A neuron that was built from a specification is a layer too.
impl Module for Arc<dyn Neuron> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        Ok(spiking(&**self, cx, x)?.out)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Neuron(&**self)
    }
}

/// The results of a neuron layer.
pub struct Spiking {
    /// The output, `[T, N, …]`; of a neuron with a readout `[1, N, …]`.
    pub out: Var,
    /// Each state after each step, `[T, N, …]`, by name. Only states that are read are computed.
    pub state_seqs: Vec<(&'static str, Var)>,
}

impl Spiking {
    /// A state after each step, such as the potential `v`.
    pub fn state_seq(&self, name: &str) -> Option<&Var> {
        let found = self.state_seqs.iter().find(|(n, _)| *n == name);
        found.map(|(_, sequence)| sequence)
    }
}

/// Runs a neuron as a layer, and returns its states with its output.
///
/// ```
/// use spikelet_nn::layer::spiking;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 4]);
/// let made = spiking(&Lif::new(2.0), &cx, &x)?;
/// assert_eq!(made.state_seq("v").map(Var::shape), Some([8, 4].as_slice()));
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// # Errors
/// When the shape of the sequence does not match, or the neuron's definition is wrong.
pub fn spiking(neuron: &dyn Neuron, cx: &Context, x: &Var) -> Result<Spiking> {
    cx.expect_rank(neuron.name(), x, 2)?;
    let wrong = |problem| cx.error("layer", LayerProblem::Definition(problem));
    let layout = StepDefinition::new(neuron).map_err(wrong)?;
    layout.check_params(neuron).map_err(wrong)?;
    if let Some(warning) = warning(neuron) {
        cx.warn(&warning);
    }
    let stored = x.ty().dtype;
    let input = x;
    let charged = neuron.charge_seq(cx, x)?;
    let x = match &charged {
        Some(whole) => {
            cx.expect_all_steps(neuron.name())?;
            whole
        }
        None => x,
    };
    let time_steps = x.dim(0);
    let layer = Layer { cx, x };
    let names = neuron.states();
    let states: Vec<Var> = (names.iter().zip(&layout.starts))
        .map(|(state, start)| layer.state(state, start.as_ref()))
        .collect();
    let params: Vec<Var> = layout.params.iter().map(|l| layer.param(l)).collect();
    let mut step = layout.step;
    let counts = cx.counts_spikes()
        && neuron.output_kind() == OutputKind::Spikes
        && !states.is_empty()
        && time_steps > 0;
    // The symbols of the charge, without states.
    let mut known: Vec<(&str, Var)> = vec![("x", x.clone())];
    known.extend((layout.params.iter().zip(&params)).map(|(p, v)| (p.name.as_str(), v.clone())));
    let mut carried = states.clone();
    if counts {
        let count = Expr::symbol(SPIKE_COUNT) + &step.outputs[0].value;
        step.states.push(SPIKE_COUNT.to_string());
        step.next.push(count);
        carried.push(cx.tracer().fill(x.ty().dtype.arithmetic(), [], 0.0));
    }
    let mut sequences = vec![x.clone()];
    if step.inputs.iter().any(|name| name == NOISE) {
        let noise = cx.generator().uniform(x.shape(), RandomAxes::TimeAndBatch);
        sequences.push(noise.cast(x.ty().dtype));
    }
    sequences.extend(layout.sequences.iter().map(|l| layer.sequence(l)));
    let by_step = layout.sequences.iter().map(|l| l.name.as_str());
    known.extend(by_step.rev().zip(sequences.iter().rev().cloned()));
    let step = Arc::new(step);
    let made = if states.is_empty() {
        let known = [
            unfused::named(&step.inputs, &sequences),
            unfused::named(&step.params, &params),
        ];
        let fired = std::slice::from_ref(&step.outputs[0].value);
        let spikes = unfused::kernel(fired, &known.concat(), stored).swap_remove(0);
        vec![spikes.expand(x.shape())]
    } else if cx.disables_fusion() && time_steps > 0 {
        unfused::forward(neuron, &step, &sequences, &states, &params).map_err(wrong)?
    } else {
        Var::scan(
            &step,
            time_steps,
            &sequences.iter().collect::<Vec<_>>(),
            &carried.iter().collect::<Vec<_>>(),
            &params.iter().collect::<Vec<_>>(),
        )
    };
    cx.tracer().check()?;
    let [outputs, lasts, state_seqs] = step.split_results(&made);
    for (state, last) in states.iter().zip(lasts) {
        cx.set_state(state, last);
    }
    let mut out = outputs[0].clone();
    match neuron.output_kind() {
        OutputKind::Spikes => cx.record_binary("spike_seq", &out),
        OutputKind::Counts | OutputKind::Ternary => cx.record("spike_seq", &out),
        OutputKind::Real => {}
    }
    if let Some(count) = lasts.last().filter(|_| counts) {
        let one_step = [&[1], count.shape()].concat();
        cx.record(SPIKE_COUNT, &count.reshape(one_step));
    }
    let state_seqs = names.iter().zip(state_seqs);
    let state_seqs: Vec<_> = state_seqs.map(|(s, v)| (s.name, v.clone())).collect();
    let v = state_seqs.iter().find(|(name, _)| *name == "v");
    for observer in cx.observers() {
        observer.neuron(cx, neuron, input, &out, v.map(|(_, v)| v))?;
    }
    if let Some(readout) = neuron.common().readout {
        cx.expect_all_steps(neuron.name())?;
        out = readout.over_time(&out).repeat_over_time(1);
    }
    if cx.watches() {
        cx.record("x_seq", x);
        if !states.is_empty() && time_steps > 0 {
            let before = names.iter().zip(&states).zip(&state_seqs);
            let before =
                before.map(|((state, start), (_, after))| (state.name, shifted(start, after)));
            known.extend(before);
            let charge = parts(neuron).map_err(wrong)?.charge;
            let h = unfused::kernel(&[charge], &known, stored.arithmetic()).swap_remove(0);
            cx.record("h_seq", &h);
        }
        for (name, sequence) in &state_seqs {
            cx.record(&format!("{name}_seq"), sequence);
        }
        if let Some((_, v)) = state_seqs.iter().find(|(name, _)| *name == "v") {
            let trained = layout.params.iter().position(|p| p.name == "v_threshold");
            let distance = match trained.and_then(|k| params.get(k)) {
                Some(v_threshold) => (v - &v_threshold.cast(v.ty().dtype)).abs(),
                None => (v - neuron.common().v_threshold).abs(),
            };
            cx.record("distance_seq", &distance);
        }
    }
    Ok(Spiking { out, state_seqs })
}

/// The sequence of a state before each step, `[T, N, …]`, from its value before the first step and its values after
/// each step.
fn shifted(start: &Var, after: &Var) -> Var {
    let mut shape = after.shape().to_vec();
    let time_steps = std::mem::replace(&mut shape[0], 1);
    let first = start
        .cast(after.ty().dtype)
        .expand(&shape[1..])
        .reshape(shape);
    match time_steps {
        1 => first,
        _ => Var::concat(&[&first, &after.slice(0, 0..time_steps - 1)], 0),
    }
}

/// The layer of a neuron while it is traced: trainable values become operands of the step.
struct Layer<'a> {
    cx: &'a Context,
    /// The input of the charge, `[T, N, …]`.
    x: &'a Var,
}

impl Layer<'_> {
    /// A parameter in the shape that broadcasts to a time step; one with a value for each step, in
    /// the shape that broadcasts to the sequence.
    fn param(&self, learned: &TrainableParam) -> Var {
        let step = &self.x.shape()[1..];
        let channels: &[usize] = step.get(1..2).unwrap_or_default();
        let behind = vec![1; step.len().saturating_sub(2)];
        let time_steps = || [self.cx.time_steps(self.x.dim(0))];
        let (stored, own) = match learned.granularity {
            Granularity::Layer => (vec![], vec![]),
            // [C, 1, …] broadcasts against [N, C, …].
            Granularity::Channel => (channels.to_vec(), [channels, &behind].concat()),
            Granularity::Neuron => (step[1..].to_vec(), step[1..].to_vec()),
            Granularity::Step => (
                time_steps().to_vec(),
                [&time_steps()[..], &vec![1; step.len()]].concat(),
            ),
            Granularity::StepChannel => (
                [&time_steps(), channels].concat(),
                [&time_steps()[..], &[1], channels, &behind].concat(),
            ),
        };
        let initial = learned.initial();
        if learned.frozen {
            // The same at all time steps, also in a network that runs step by step.
            let buffer = || self.cx.buffer(&learned.name, stored, initial);
            return self.cx.once(|| buffer().reshape(own));
        }
        let parameter = self.cx.parameter(&learned.name, stored, initial);
        if let Some(limits) = learned.bound.limits() {
            self.cx.limit_parameter(&learned.name, limits);
        }
        parameter.reshape(own)
    }

    /// A parameter with a value for each time step, as a sequence.
    fn sequence(&self, learned: &TrainableParam) -> Var {
        let steps = self.cx.steps_of(self.x.dim(0), || self.param(learned));
        steps.expand(self.x.shape()).cast(self.x.ty().dtype)
    }

    /// A state before the first step.
    fn state(&self, state: &State, start: Option<&TrainableParam>) -> Var {
        let shape = self.x.shape()[1..].to_vec();
        let Some(learned) = start else {
            let made = self.cx.made_state(state.name);
            return made.unwrap_or_else(|| state.trace(self.cx, &shape));
        };
        let bound = learned.bound;
        self.cx
            .trainable_start(state.name, &learned.name, learned.granularity, bound);
        let param = self.param(learned);
        let start = || param.map1(|p| bound.apply(p));
        self.cx.state_from(state.name, shape, state.reset, start)
    }
}

impl fmt::Debug for Spiking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spiking")
            .field("out", &self.out.ty())
            .finish_non_exhaustive()
    }
}
