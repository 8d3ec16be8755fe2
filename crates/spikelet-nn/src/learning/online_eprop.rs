//! A recurrent layer and its readout that learn by e-prop while time passes.
//!
//! z[t] = neuron(W_in·x[t] + W_rec·z[t−1]),  z̄[t] = κ z̄[t−1] + (1 − κ) z[t],  y[t] = W_out·z̄[t] + b
//!
//! error[t] = y[t] − target[t], or softmax(y[t]) − target[t];  L[t] = error[t]·B
//!
//! The changes are those of [`Eprop`] for W_in and W_rec, and −error ⊗ z̄ for W_out and B if it is adaptive. With a rate to
//! be kept, ΔW also has −strength·(F[t] − rate)·e[t], with F the running mean of the spikes of a neuron.
//!
//! Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
//! Communications 2020; the rate in each step: ml_genn.

use super::eprop::{LEARNING_SIGNAL, RATE_ERROR};
use super::label::label;
use super::{Eprop, LearningError, LearningRule, PlasticSynapses, RuleInputs, Update, run_rule};
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::layer::{Linear, off_diagonal, spiking};
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerNeuron;
use crate::neuron::Neuron;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// How the outputs are compared with the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum EpropError {
    /// y − target, the derivative of half the squared error.
    #[default]
    Squared,
    /// softmax(y) − target, the derivative of the cross entropy with target probabilities.
    CrossEntropy,
}

/// The weights B by which the errors of the outputs reach the neurons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum EpropFeedback {
    /// Those of the readout.
    #[default]
    Symmetric,
    /// Random weights, which do not change.
    Random,
    /// Random weights that change as those of the readout.
    Adaptive,
}

/// A rate to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "regularization")]
pub struct RateRegularization {
    /// The factor of the change.
    #[schema(required, at_least = 0.0)]
    pub strength: f64,
    /// The spikes of a neuron in a step.
    #[schema(required, at_least = 0.0)]
    pub rate: f64,
    /// The time constant of the running mean of the spikes.
    #[schema(required, above = 0.0, unit = "steps")]
    pub tau: f64,
}

/// A recurrent layer with a readout that learns by e-prop: `[T, N, inputs] → [T, N, outputs]`.
///
/// In a training trace it needs the signal `target`, `[T, N, outputs]`; for classes, the probabilities of the classes in
/// each step. Without it the [classes of the samples](Context::give_label) are the target of all steps. The signal
/// `error_weight`, `[T]` or `[T, N]`, is a factor of the error, such as 0 for steps without a target. Changes are summed over samples, and in the modes other than [`Update::EachStep`] over steps. The outputs have no
/// gradient.
///
/// Memory does not grow with the number of steps, other than for the input and the outputs: it has, for each sample, the
/// traces of each synapse.
///
/// | parameter, or buffer | shape | start |
/// |---|---|---|
/// | `input.weight` | `[neurons, inputs]` | normal, deviation 1/√inputs |
/// | `recurrent.weight` | `[neurons, neurons]`, the diagonal is 0 | normal, deviation 1/√neurons |
/// | `readout.weight`, `readout.bias` | `[outputs, neurons]`, `[outputs]` | normal, deviation 1/√neurons; 0 |
/// | `feedback.weight` | `[outputs, neurons]` | as the weight of the readout; not with symmetric feedback |
///
/// They are parameters with [`Update::Gradient`], the default, where the optimizer adds the change times its learning rate;
/// otherwise buffers. The constants of the neuron must not be trainable.
///
/// ```
/// use spikelet_nn::learning::OnlineEprop;
/// use spikelet_nn::neuron::EpropAlif;
/// use spikelet_nn::prelude::*;
/// let net = OnlineEprop::new([20, 100, 3], EpropAlif::default()).readout_decay(0.95);
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 8, 20]);
/// let target = cx.tracer().input("target", DType::F32, [50, 8, 3]);
/// cx.give_signal("target", &target);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 8, 3]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OnlineEprop {
    inputs: usize,
    neurons: usize,
    outputs: usize,
    neuron: Arc<dyn Neuron>,
    readout_decay: f64,
    error: EpropError,
    feedback: EpropFeedback,
    regularization: Option<RateRegularization>,
    update: Update,
    lr: f64,
}

/// The signals that it reads.
const TARGET: &str = "target";
const ERROR_WEIGHT: &str = "error_weight";

/// The layer in error messages.
const WHAT: &str = "online e-prop";

impl OnlineEprop {
    /// A layer with so many inputs, neurons and outputs.
    pub fn new(sizes: [usize; 3], neuron: impl Neuron + 'static) -> Self {
        Self::of(sizes, Arc::new(neuron))
    }

    /// The same with a shared neuron, such as one that was built from a specification.
    pub fn of([inputs, neurons, outputs]: [usize; 3], neuron: Arc<dyn Neuron>) -> Self {
        Self {
            inputs,
            neurons,
            outputs,
            neuron,
            readout_decay: 0.0,
            error: EpropError::default(),
            feedback: EpropFeedback::default(),
            regularization: None,
            update: Update::Gradient,
            lr: 1.0,
        }
    }

    /// Sets κ, the decay of the readout in a step; 0 by default.
    #[must_use]
    pub fn readout_decay(mut self, kappa: f64) -> Self {
        self.readout_decay = kappa;
        self
    }

    /// Sets how the outputs are compared with the target.
    #[must_use]
    pub fn error(mut self, error: EpropError) -> Self {
        self.error = error;
        self
    }

    /// Sets the weights by which errors reach the neurons.
    #[must_use]
    pub fn feedback(mut self, feedback: EpropFeedback) -> Self {
        self.feedback = feedback;
        self
    }

    /// Sets the rate of each neuron to be kept.
    #[must_use]
    pub fn regularization(mut self, regularization: RateRegularization) -> Self {
        self.regularization = Some(regularization);
        self
    }

    /// Sets when and how the weights change.
    #[must_use]
    pub fn update(mut self, update: Update) -> Self {
        self.update = update;
        self
    }

    /// Sets the factor of a change; not with [`Update::Gradient`].
    #[must_use]
    pub fn lr(mut self, lr: f64) -> Self {
        self.lr = lr;
        self
    }

    fn check(&self, cx: &Context, x: &Var) -> Result<Eprop> {
        cx.expect_rank(WHAT, x, 3)?;
        <Linear>::check(cx, x, self.inputs, self.neurons)?;
        let at_least_one =
            |name, size: usize| Constant::new(name, size as f64, Domain::at_least(1.0));
        let mut constants = vec![
            at_least_one("the number of inputs", self.inputs),
            at_least_one("the number of neurons", self.neurons),
            at_least_one("the number of outputs", self.outputs),
            Constant::new("lr", self.lr, Domain::FINITE),
        ];
        let decay = Domain::at_least(0.0).below(1.0);
        constants.push(Constant::new("readout_decay", self.readout_decay, decay));
        if let Some(regularization) = self.regularization {
            constants.extend(Constant::all(&regularization));
        }
        cx.expect_domains(WHAT, &constants)?;
        let rule = Eprop::of(&*self.neuron)
            .map_err(|problem| cx.error(WHAT, LayerProblem::Definition(problem)))?;
        self.update.check(cx, WHAT, rule.name())?;
        if self.update != Update::EachStep && cx.mode().training {
            cx.expect_all_steps(WHAT)
                .map_err(|_| cx.error(WHAT, LearningError::NeedsAllSteps.into()))?;
        }
        Ok(rule
            .readout_decay(self.readout_decay)
            .keeps_rate(self.regularization.is_some()))
    }

    /// The tensors that learn, in the order of their changes: name of the module, name, shape.
    fn tensors(&self) -> Vec<(&'static str, &'static str, Vec<usize>)> {
        let (n, outputs) = (self.neurons, self.outputs);
        let mut all = vec![
            ("input", "weight", vec![n, self.inputs]),
            ("recurrent", "weight", vec![n, n]),
            ("readout", "weight", vec![outputs, n]),
            ("readout", "bias", vec![outputs]),
        ];
        if self.feedback == EpropFeedback::Adaptive {
            all.push(("feedback", "weight", vec![outputs, n]));
        }
        all
    }

    /// A tensor, at the beginning of the call or in the current step.
    fn tensor(&self, cx: &Context, module: &str, name: &str, shape: &[usize]) -> Result<Var> {
        let init = match shape {
            [_, inputs] => Init::Normal {
                deviation: 1.0 / (*inputs as f64).sqrt(),
            },
            _ => Init::Constant(0.0),
        };
        cx.child(module, |cx| {
            Ok(match self.update {
                Update::Gradient => cx.parameter(name, shape, init),
                _ => cx.buffer(name, shape, init),
            })
        })
    }

    /// The value of a signal in a step, `[1, N, width]`.
    fn signal(
        &self,
        cx: &Context,
        name: &'static str,
        x: &Var,
        width: usize,
    ) -> Result<Option<Var>> {
        let Some(signal) = cx.signal(name) else {
            return Ok(None);
        };
        let (time_steps, batch) = (cx.time_steps(x.dim(0)), x.dim(1));
        let fits = match signal.shape() {
            [t] => *t == time_steps && width == 1,
            [t, n] => *t == time_steps && *n == batch && width == 1,
            [t, n, features] => [*t, *n, *features] == [time_steps, batch, width],
            _ => false,
        };
        if !fits {
            let problem = match width {
                1 => LearningError::SignalShape {
                    signal: name.to_string(),
                    given: signal.ty().clone(),
                    time_steps,
                    batch,
                },
                _ => LearningError::TargetShape {
                    signal: name.to_string(),
                    given: signal.ty().clone(),
                    expected: vec![time_steps, batch, width],
                },
            };
            return Err(cx.error(WHAT, problem.into()));
        }
        let signal = cx.steps_of(x.dim(0), || signal).detach();
        let samples = signal.shape()[1..].iter().product::<usize>() / width;
        Ok(Some(signal.reshape([signal.dim(0), samples, width])))
    }

    /// The target of samples with classes, `[1, N, outputs]`.
    fn classes(&self, cx: &Context, batch: usize) -> Result<Var> {
        let no_target = |problem| match problem {
            LearningError::NoSignal { rule, .. } => LearningError::NoSignal {
                rule,
                signal: TARGET.to_string(),
            },
            other => other,
        };
        let label = label(cx, "e-prop", batch, self.outputs);
        let label = label.map_err(|problem| cx.error(WHAT, no_target(problem).into()))?;
        Ok(label.unsqueeze(0))
    }

    /// One step: the outputs, and the changes of the tensors.
    fn step(&self, cx: &Context, rule: &Eprop, x: &Var) -> Result<(Vec<Var>, Vec<Var>)> {
        let (batch, n) = (x.dim(1), self.neurons);
        let kappa = self.readout_decay;
        let tensors = self.tensors().into_iter();
        let tensors = tensors.map(|(module, name, shape)| self.tensor(cx, module, name, &shape));
        let tensors = tensors.collect::<Result<Vec<Var>>>()?;
        let [w_in, w_rec, w_out, bias] = [0, 1, 2, 3].map(|k| self.used(cx, &tensors[k]));
        let others = cx.once(|| off_diagonal(cx, n));
        let state = |cx: &Context, name: &str| cx.state(name, [batch, n], 0.0);
        let values_of = |state: &Var| state.expand([batch, n]).unsqueeze(0);

        let before = values_of(&state(cx, "spikes"));
        let current = x.linear(&w_in) + before.linear(&(w_rec * &others));
        let mut known = cx.child("neuron", |cx| {
            let states = self.neuron.states().into_iter();
            let known = states.map(|s| (s.name.to_string(), values_of(&state(cx, s.name))));
            Ok(known.collect::<Vec<_>>())
        })?;
        let made = cx.child("neuron", |cx| spiking(&*self.neuron, cx, &current))?;
        let spikes = made.out.cast(cx.tracer().float()).detach();
        let kept =
            |name: &str, value: &Var| cx.set_state(&state(cx, name), &value.reshape([batch, n]));
        kept("spikes", &spikes);
        let filtered = values_of(&state(cx, "filtered")) * kappa + &spikes * (1.0 - kappa);
        kept("filtered", &filtered);
        let y = filtered.linear(&w_out) + bias;
        if !cx.mode().training {
            return Ok((vec![y], vec![]));
        }

        let target = match self.signal(cx, TARGET, x, self.outputs)? {
            Some(target) => target,
            None => self.classes(cx, batch)?,
        };
        let mut error = match self.error {
            EpropError::Squared => &y - target,
            EpropError::CrossEntropy => y.softmax() - target,
        };
        if let Some(weight) = self.signal(cx, ERROR_WEIGHT, x, 1)? {
            error = error * weight;
        }
        let error = error.detach();
        let back = match self.feedback {
            EpropFeedback::Symmetric => w_out,
            EpropFeedback::Adaptive => tensors[4].detach(),
            EpropFeedback::Random => cx.child("feedback", |cx| {
                let deviation = 1.0 / (n as f64).sqrt();
                Ok(cx.buffer("weight", [self.outputs, n], Init::Normal { deviation }))
            })?,
        };
        let signal = error.linear(&back.permute(&[1, 0]));
        if let Some(r) = self.regularization {
            let decay = (-1.0 / r.tau).exp();
            let rate = values_of(&state(cx, "rate")) * decay + &spikes * (1.0 - decay);
            kept("rate", &rate);
            known.push((RATE_ERROR.to_string(), (rate - r.rate) * r.strength));
        }
        known.push(("x".to_string(), current));
        known.push((LEARNING_SIGNAL.to_string(), signal));
        let change = |module: &str, pre: &Var, inputs: usize, weight: &Var| {
            let inputs = RuleInputs {
                synapses: &Linear::new(inputs, n),
                weight,
                pre,
                post: &spikes,
                values: &known,
            };
            cx.child(module, |cx| Ok(run_rule(cx, rule, inputs)?.change))
        };
        let (x, before) = (x.cast(cx.tracer().float()).detach(), before.detach());
        let readout = Linear::new(n, self.outputs).products(&filtered, &error) * -1.0;
        let mut changes = vec![
            change("input", &x, self.inputs, &w_in)?,
            change("recurrent", &before, n, &tensors[1])? * others,
            readout.clone(),
            error.sum(&[0, 1]) * -1.0,
        ];
        if self.feedback == EpropFeedback::Adaptive {
            changes.push(readout);
        }
        if self.update == Update::EachStep {
            for (tensor, change) in tensors.iter().zip(&changes) {
                self.change(cx, tensor, change);
            }
            changes.clear();
        }
        Ok((vec![y], changes))
    }

    /// A tensor in a step: in training without a gradient.
    fn used(&self, cx: &Context, tensor: &Var) -> Var {
        match cx.mode().training {
            true => tensor.detach(),
            false => tensor.clone(),
        }
    }

    fn change(&self, cx: &Context, buffer: &Var, change: &Var) {
        cx.note_plastic();
        let next = buffer + self.lr * change.cast(buffer.ty().dtype);
        cx.set_buffer(buffer, &next.detach());
    }
}

impl Module for OnlineEprop {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let rule = self.check(cx, x)?;
        let sequences = std::slice::from_ref(x);
        let steps = || cx.step_loop_sums(sequences, |x| self.step(cx, &rule, &x[0]));
        let (mut outputs, changes) = cx.tracer().keep_in_loops(steps)?;
        for ((module, name, shape), change) in self.tensors().iter().zip(&changes) {
            let tensor = self.tensor(cx, module, name, shape)?;
            match self.update {
                Update::Gradient => cx.change_by_gradient(&tensor, change),
                _ => self.change(cx, &tensor, change),
            }
        }
        let y = outputs.swap_remove(0);
        Ok(if cx.mode().training { y.detach() } else { y })
    }

    fn tree(&self) -> Tree {
        let sizes = [self.inputs, self.neurons, self.outputs];
        let settings = format!(
            "{sizes:?}, readout_decay {}, {:?}, {:?}, {:?}",
            self.readout_decay, self.error, self.feedback, self.update
        );
        Tree::for_type::<Self>()
            .settings(settings)
            .child("neuron", &self.neuron)
    }
}

/// Recurrent neurons and a readout that learn by e-prop in each step.
///
/// `{ online-eprop = 100, outputs = 10, cell = "eprop_alif", readout_decay = 0.95 }`. The target of each step is the class of the
/// sample.
#[derive(Debug, Schema)]
#[schema(name = "online-eprop")]
pub(crate) struct OnlineEpropKeys {
    /// The number of neurons.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    features: usize,
    /// The number of outputs.
    #[schema(required, from = 1, to = Layers::MAX_SIZE)]
    outputs: usize,
    /// The neuron; by default the network's.
    cell: LayerNeuron,
    /// What the outputs keep in a step, below 1.
    #[schema(from = 0, below = 1)]
    readout_decay: f64,
    /// How the outputs are compared with the class: `cross-entropy` or `squared`.
    #[schema(default = EpropError::CrossEntropy)]
    error: EpropError,
    /// The weights by which errors reach the neurons: `symmetric`, `random` or `adaptive`.
    feedback: EpropFeedback,
    /// A rate that neurons keep: `strength = 1e-3, rate = 0.02, tau = 100.0`.
    regularization: Option<RateRegularization>,
    /// When the weights change: `gradient`, `each-step` or `end-of-call`.
    #[schema(default = Update::Gradient)]
    update: Update,
    /// The factor of a change.
    #[schema(default = 1.0)]
    lr: f64,
}

impl LayerKeys for OnlineEpropKeys {
    const OTHER_NAMES: &[&str] = &["eprop"];
    const EXAMPLE: (&[usize], &str) = (
        &[8],
        r#"{ online-eprop = 6, outputs = 3, cell = "eprop_alif", feedback = "random" }"#,
    );

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (neurons, outputs, inputs) = (self.features, self.outputs, b.features(layer)?);
        self.update.expect_without(layer, "lr")?;
        let module = OnlineEprop {
            readout_decay: self.readout_decay,
            error: self.error,
            feedback: self.feedback,
            regularization: self.regularization,
            update: self.update,
            lr: self.lr,
            ..OnlineEprop::of([inputs, neurons, outputs], self.cell.neuron(b))
        };
        b.expect_trainable(&module)?;
        let weights = || {
            let rows = inputs.checked_add(neurons)?.checked_add(outputs)?;
            rows.checked_mul(neurons)?.checked_add(outputs)
        };
        b.fully_connected(layer, module, weights())
    }
}
