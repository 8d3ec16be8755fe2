//! A layer of synapses with a learning rule, and the neurons behind it.

use super::competition::{Competition, Homeostasis};
use super::{LearningError, LearningRule, PlasticSynapses, RuleInputs, run_rule};
use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree, print_as_tree};
use serde::{Deserialize, Serialize};
use spikelet_core::Result;
use spikelet_graph::Var;
use std::any::Any;
use std::sync::Arc;

/// When and how a rule changes the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// In each step, inside the loop over time.
    #[default]
    EachStep,
    /// After the last step, by the sum of the changes.
    EndOfCall,
    /// The change is subtracted from the gradient of the weight, which is a parameter: the optimizer adds the change,
    /// multiplied by its learning rate. The loss may have a gradient as well.
    Gradient,
}

impl Update {
    /// Refuses weights that each of several ranks would change by itself.
    pub(super) fn check(self, cx: &Context, what: &str, rule: &'static str) -> Result<()> {
        let ranks = cx.ranks();
        if self == Self::Gradient || !cx.mode().training || ranks <= 1 {
            return Ok(());
        }
        Err(cx.error(what, LearningError::Ranks { rule, ranks }.into()))
    }
}

/// Synapses whose weights change by a learning rule, and neurons: `[T, N, …] → [T, N, …]`.
///
/// Weights change in a training trace ([`Mode::training`](crate::module::Mode)), and without an optimizer also where
/// [`Context::learning`] is set; in a stream only those that change in each step. They are the buffer
/// `synapses.weight`, or with [`Update::Gradient`] a parameter of that name. The traces are states: with
/// [`Mode::carry_state`](crate::module::Mode) they continue in the next call. A context that watches records the traces,
/// the changes `change_seq` and the weights `weight_seq`, after each step or, with [`Update::EndOfCall`], after the last one.
///
/// | setting | default | |
/// |---|---|---|
/// | `update` | each step | when the weights change |
/// | `learning_rate` | 1 | factor of a change, not with [`Update::Gradient`] |
/// | `bounds` | those of the rule | the interval to which weights are clamped after a change |
/// | `normalize` | none | the sum of each neuron's input weights at the beginning of a call |
/// | `inhibition` | 0 | what a spike subtracts from the input of the other neurons in the next step |
/// | `single_winner` | false | whether of the neurons that fire in a step only the one with the largest input does |
/// | `homeostasis` | none | a threshold that rises with each spike, the buffer `theta` |
///
/// With convolutions, neurons compete with those of other channels at their position.
pub struct Plastic {
    synapses: Box<dyn PlasticSynapses>,
    neuron: Box<dyn Module>,
    rule: Arc<dyn LearningRule>,
    update: Update,
    learning_rate: f64,
    bounds: Option<[f64; 2]>,
    normalize: Option<f64>,
    competition: Competition,
}

impl Plastic {
    /// Synapses, the neurons behind them, and the rule.
    pub fn new(
        synapses: impl PlasticSynapses + 'static,
        neuron: impl Module + 'static,
        rule: impl LearningRule + 'static,
    ) -> Self {
        Self {
            synapses: Box::new(synapses),
            neuron: Box::new(neuron),
            bounds: rule.bounds(),
            rule: Arc::new(rule),
            update: Update::default(),
            learning_rate: 1.0,
            normalize: None,
            competition: Competition::default(),
        }
    }

    /// Sets when the weights change.
    #[must_use]
    pub fn update(mut self, update: Update) -> Self {
        self.update = update;
        self
    }

    /// Sets the factor of a change.
    #[must_use]
    pub fn learning_rate(mut self, learning_rate: f64) -> Self {
        self.learning_rate = learning_rate;
        self
    }

    /// Sets the interval to which weights are clamped after a change. Weights of a neuron for which all factors of the rule
    /// are 0, as before its first spike, are not changed, also outside the interval.
    #[must_use]
    pub fn bounds(mut self, low: f64, high: f64) -> Self {
        self.bounds = Some([low, high]);
        self
    }

    /// Scales the input weights of each neuron to this sum at the beginning of a call.
    #[must_use]
    pub fn normalize(mut self, sum: f64) -> Self {
        self.normalize = Some(sum);
        self
    }

    /// Sets what a spike subtracts from the input of the other neurons in the next step.
    #[must_use]
    pub fn inhibition(mut self, inhibition: f64) -> Self {
        self.competition.inhibition = inhibition;
        self
    }

    /// Sets whether of the neurons that fire in a step only the one with the largest input does; the others are reset and
    /// their spikes are dropped.
    #[must_use]
    pub fn single_winner(mut self, yes: bool) -> Self {
        self.competition.single_winner = yes;
        self
    }

    /// Sets the threshold that follows the activity. The neuron must have the
    /// [trainable](crate::neuron::Common::trainable) constant `v_threshold`, with a value for each neuron or channel.
    ///
    /// ```
    /// use spikelet_nn::learning::{Homeostasis, PairStdp, Plastic};
    /// use spikelet_nn::prelude::*;
    /// let by_neuron = Trainable::new(Granularity::Neuron);
    /// let neuron = Lif::new(10.0).trainable("v_threshold", by_neuron);
    /// let homeostasis = Homeostasis { increase: 0.05, tau: 1e7, v_threshold: 1.0 };
    /// let layer = Plastic::new(Linear::new(784, 100), neuron, PairStdp::default())
    ///     .inhibition(17.0)
    ///     .homeostasis(homeostasis);
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [10, 1, 784]);
    /// assert_eq!(cx.trace(&layer, x)?.shape(), [10, 1, 100]);
    /// assert_eq!(cx.traced().buffers[1].name, "theta");
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn homeostasis(mut self, homeostasis: Homeostasis) -> Self {
        self.competition.homeostasis = Some(homeostasis);
        self
    }

    fn check(&self, cx: &Context) -> Result<()> {
        let mut constants = vec![Constant::new(
            "learning_rate",
            self.learning_rate,
            Domain::FINITE,
        )];
        if let Some([low, high]) = self.bounds {
            constants.push(Constant::new("the lower bound", low, Domain::FINITE));
            constants.push(Constant::new(
                "the upper bound",
                high,
                Domain::at_least(low),
            ));
        }
        if let Some(sum) = self.normalize {
            constants.push(Constant::new("normalize", sum, Domain::above(0.0)));
        }
        constants.extend(self.competition.constants());
        cx.expect_domains("plastic layer", &constants)?;
        self.update.check(cx, "plastic layer", self.rule.name())
    }

    /// Whether the weights change in this trace.
    fn learns(&self, cx: &Context) -> bool {
        match self.update {
            Update::EachStep => cx.learns(),
            // A call of a stream is one step.
            Update::EndOfCall => cx.learns() && (cx.mode().training || !cx.mode().carry_state),
            Update::Gradient => cx.mode().training,
        }
    }

    /// The weight at the beginning of a call, and in the current step.
    fn weight(&self, cx: &Context) -> Result<Var> {
        let (shape, init) = self.synapses.weight();
        cx.child("synapses", |cx| {
            Ok(match self.update {
                Update::Gradient => cx.parameter("weight", shape, init),
                _ => cx.buffer_from("weight", shape, init, |weight| match self.normalize {
                    Some(sum) if self.learns(cx) => normalized(weight, sum),
                    _ => weight.clone(),
                }),
            })
        })
    }

    fn spikes(&self, cx: &Context, weight: &Var, x: Var) -> Result<Var> {
        let learns = self.learns(cx) && self.update == Update::EachStep;
        let y = cx.child("synapses", |cx| {
            cx.with_parameter("weight", weight, |cx| match learns && x.dim(0) == 1 {
                // No product over all steps could have the same bits: the weight changes in between.
                true => self.synapses.forward_step(cx, x),
                false => self.synapses.forward(cx, x),
            })
        })?;
        let y = self.competition.inhibited(cx, y);
        let threshold = self.competition.threshold(cx, &y);
        let spikes = cx.child("neuron", |cx| match &threshold {
            None => self.neuron.forward(cx, y.clone()),
            Some(threshold) => cx.with_parameter("v_threshold", threshold, |cx| {
                self.neuron.forward(cx, y.clone())
            }),
        })?;
        Ok(self.competition.winners(cx, &y, spikes))
    }

    /// The spikes, and the weight after the change of the steps of `x`.
    fn run(&self, cx: &Context, x: Var) -> Result<Var> {
        let weight = self.weight(cx)?;
        let spikes = self.spikes(cx, &weight, x.clone())?;
        if !self.learns(cx) {
            return Ok(spikes);
        }
        cx.note_plastic();
        self.competition.learn(cx, &spikes);
        let inputs = RuleInputs {
            synapses: &*self.synapses,
            weight: &weight,
            pre: &x,
            post: &spikes,
            values: &[],
        };
        let made = run_rule(cx, &*self.rule, inputs)?;
        if let Some(changes) = &made.change_seq {
            cx.record("change_seq", changes);
        }
        if self.update == Update::Gradient {
            cx.change_by_gradient(&weight, &made.change);
            return Ok(spikes);
        }
        let next = made.applied(&weight, self.learning_rate, self.bounds);
        if cx.watches() {
            cx.record("weight_seq", &next.reshape([&[1], next.shape()].concat()));
        }
        cx.child("synapses", |cx| {
            cx.set_buffer(&weight, &next);
            Ok(())
        })?;
        Ok(spikes)
    }
}

/// Weights `[out, …]` scaled to a sum of the inputs of each output. Weights whose sum is 0 stay.
fn normalized(weight: &Var, sum: f64) -> Var {
    let flat = weight.flatten(1);
    let sums = flat.sum(&[1]).unsqueeze(1);
    let factor = sums.map1(|s| spikelet_expr::Expr::select(s.differs(0.0), sum / s, 1.0));
    (flat * factor).reshape(weight.shape())
}

impl Module for Plastic {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("plastic layer", &x, 3)?;
        self.check(cx)?;
        let each_step = self.update == Update::EachStep;
        let sequential = self.competition.is_sequential();
        let learns = self.learns(cx);
        if (each_step && learns) || (sequential && !learns) {
            return Ok(cx.step_loop(&x, |x| self.run(cx, x))?.join());
        }
        if !learns {
            return self.run(cx, x);
        }
        if sequential {
            return Err(cx.error("plastic layer", LearningError::Competition.into()));
        }
        cx.expect_all_steps("plastic layer")
            .map_err(|_| cx.error("plastic layer", LearningError::NeedsAllSteps.into()))?;
        self.run(cx, x)
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>()
            .child("synapses", &*self.synapses)
            .child("neuron", &*self.neuron)
            .child_tree("rule", Tree::fields(&self.rule))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

print_as_tree!(Plastic);
