//! A layer of synapses with a learning rule, and the neurons behind it.

use super::changing_synapses::{ChangeKeys, ChangingSynapses, RuleKey};
use super::class_reward::ClassReward;
use super::competition::{Competition, Homeostasis};
use super::{LearningError, LearningRule, PlasticSynapses, Update, reward};
use crate::domain::Constant;
use crate::layer::{Conv, ConvKeys, LinearKeys};
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::layer_fields::inner_layer;
use crate::network::neuron::{neuron_of, neuron_problem};
use crate::network::values::{InnerLayer, LayerNeuron};
use crate::neuron::Neuron;
use serde_json::{Map, Value, json};
use spikelet_core::Result;
use spikelet_core::document::{Located, Node};
use spikelet_graph::Var;
use spikelet_schema::{Field, FieldValue, Kind, Schema};
use std::sync::Arc;

/// Synapses whose weights change by a learning rule, and neurons: `[T, N, …] → [T, N, …]`.
///
/// Weights change in a training trace ([`Mode::training`](crate::module::Mode)), and without an optimizer also where
/// [`Trace::learning`](crate::module::Trace::learning) is set; in a stream only those that change in each step. They are the buffer
/// `synapses.weight`, or with [`Update::Gradient`] a parameter of that name. The traces are states: with
/// [`Mode::carry_state`](crate::module::Mode) they continue in the next call. A context that watches records the traces,
/// the changes `change_seq` and the weights `weight_seq`, after each step or, with [`Update::EndOfCall`], after the last one.
///
/// | setting | default | |
/// |---|---|---|
/// | `update` | each step | when the weights change |
/// | `lr` | 1 | factor of a change, not with [`Update::Gradient`] |
/// | `bounds` | those of the rule | the interval to which weights are clamped after a change |
/// | `normalize` | none | the sum of each neuron's input weights at the beginning of a call, in a stream of a [sequence](crate::module::Trace::learning) |
/// | `inhibition` | 0 | what a spike subtracts from the input of the other neurons in the next step |
/// | `single_winner` | false | whether of the neurons that fire in a step only the one with the largest input does |
/// | `homeostasis` | none | a threshold that rises with each spike, the buffer `theta` |
/// | `reward` | none | the signal `reward` of the rule, by the classes of the samples |
///
/// With convolutions, neurons compete with those of other channels at their position.
pub struct Plastic {
    changing: ChangingSynapses,
    neuron: Box<dyn Module>,
    competition: Competition,
    reward: Option<ClassReward>,
}

impl Plastic {
    /// Synapses, the neurons behind them, and the rule.
    pub fn new(
        synapses: impl PlasticSynapses + 'static,
        neuron: impl Module + 'static,
        rule: impl LearningRule + 'static,
    ) -> Self {
        Self {
            changing: ChangingSynapses::new("synapses", synapses, rule),
            neuron: Box::new(neuron),
            competition: Competition::default(),
            reward: None,
        }
    }

    /// Sets when the weights change.
    #[must_use]
    pub fn update(mut self, update: Update) -> Self {
        self.changing.update = update;
        self
    }

    /// Sets the factor of a change.
    #[must_use]
    pub fn lr(mut self, lr: f64) -> Self {
        self.changing.lr = lr;
        self
    }

    /// Sets the interval to which weights are clamped after a change. Weights of a neuron for which all factors of the rule
    /// are 0, as before its first spike, are not changed, also outside the interval.
    #[must_use]
    pub fn bounds(mut self, low: f64, high: f64) -> Self {
        self.changing.bounds = Some([low, high]);
        self
    }

    /// Scales the input weights of each neuron to this sum at the beginning of a call.
    #[must_use]
    pub fn normalize(mut self, sum: f64) -> Self {
        self.changing.normalize = Some(sum);
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
    /// let layer = Plastic::new(Linear::new(784, 100).bias(false), neuron, PairStdp::default())
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

    /// Sets the reward by the classes of the samples, for [`RewardStdp`](super::RewardStdp),
    /// [`RewardTraceStdp`](super::RewardTraceStdp) and other rules that read the signal `reward`.
    #[must_use]
    pub fn reward(mut self, reward: ClassReward) -> Self {
        self.reward = Some(reward);
        self
    }

    fn spikes(&self, cx: &Context, weight: &Var, x: Var) -> Result<Var> {
        let y = self.changing.currents(cx, weight, x)?;
        let y = self.competition.inhibited(cx, y);
        let threshold = self.competition.threshold(cx, &y);
        let spikes = cx.child("neuron", |cx| match &threshold {
            None => self.neuron.forward(cx, &y),
            Some(threshold) => {
                let (spikes, read) =
                    cx.with_parameter("v_threshold", threshold, |cx| self.neuron.forward(cx, &y));
                match read {
                    true => spikes,
                    false => Err(cx.error("homeostasis", LearningError::FixedThreshold.into())),
                }
            }
        })?;
        Ok(self.competition.winners(cx, &y, spikes))
    }

    /// The spikes; the weight changes by the steps of `x`.
    fn run(&self, cx: &Context, x: &Var) -> Result<Var> {
        let weight = self.changing.weight(cx)?;
        let spikes = self.spikes(cx, &weight, x.clone())?;
        if self.changing.learns(cx) {
            self.competition.learn(cx, &spikes);
            self.change(cx, &weight, x, &spikes)?;
        }
        Ok(spikes)
    }

    fn change(&self, cx: &Context, weight: &Var, x: &Var, spikes: &Var) -> Result<()> {
        let change = |cx: &Context| self.changing.change(cx, weight, x, spikes);
        let Some(reward) = self.reward else {
            return change(cx);
        };
        let rewards = reward.before(cx, self.changing.rule.name(), spikes)?;
        cx.record(reward::SIGNAL, &rewards);
        cx.with_signal(reward::SIGNAL, &rewards, change)
    }
}

impl Module for Plastic {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("plastic layer", x, 3)?;
        cx.expect_domains("plastic layer", &self.competition.constants())?;
        self.changing.check(cx, "plastic layer")?;
        if let Some(reward) = self.reward {
            cx.expect_domains("plastic layer", &Constant::all(&reward))?;
            reward.check(cx, &*self.changing.rule)?;
        }
        let each_step = self.changing.update == Update::EachStep;
        let sequential = self.competition.is_sequential();
        let learns = self.changing.learns(cx);
        if (each_step && learns) || (sequential && !learns) {
            return Ok(cx.step_loop(x, |x| self.run(cx, &x))?.join());
        }
        if learns && sequential {
            return Err(cx.error("plastic layer", LearningError::Competition.into()));
        }
        self.run(cx, x)
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>()
            .child("synapses", &*self.changing.synapses)
            .child("neuron", &*self.neuron)
            .child_tree("rule", Tree::fields(&self.changing.rule))
    }
}

print_as_tree!(Plastic);

/// A linear layer or a convolution with a learning rule, and neurons.
///
/// `{ plastic = { linear = 100 }, rule = { name = "pair-stdp", a2_plus = 2e-3 }, cell = "lif" }`
#[derive(Debug, Schema)]
#[schema(name = "plastic")]
pub(crate) struct PlasticKeys {
    /// A layer `linear` or `conv`.
    #[schema(main, required)]
    synapses: InnerLayer,
    /// The learning rule: `stdp`, `pair-stdp`, `triplet-stdp`, `reward-stdp`, `reward-trace-stdp`, or a table with `name` and constants.
    #[schema(required)]
    rule: RuleKey,
    /// The neuron; by default the network's.
    cell: LayerNeuron,
    #[schema(flatten)]
    change: ChangeKeys,
    /// The sum of the input weights of each neuron at the beginning of a call.
    #[schema(above = 0)]
    normalize: Option<f64>,
    /// What a spike subtracts from the input of the other neurons in the next step.
    #[schema(at_least = 0)]
    inhibition: f64,
    /// Whether of the neurons that fire in a step only the one with the largest input does.
    single_winner: bool,
    /// A threshold that rises with each spike: `increase = 0.02, tau = 1e4`.
    homeostasis: Option<Homeostasis>,
    /// The reward of a rule by the classes of the samples, `classes = 10, right = 1.0, wrong = -1.0`, or `signal`: see `graph.give_signal`.
    reward: Option<Reward>,
}

impl LayerKeys for PlasticKeys {
    const OTHER_NAMES: &[&str] = &["stdp"];
    const EXAMPLE: (&[usize], &str) = (
        &[8],
        r#"{ plastic = { linear = 6 }, rule = "stdp", cell = "lif" }"#,
    );

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (synapses, weights, window) = self.synapses(layer, b)?;
        let rule = self.rule.rule(layer, self.reward.is_some())?;
        let neuron = self.neuron(layer, b)?;
        let v_threshold = neuron.common().v_threshold;
        let mut module = Plastic::new(synapses, neuron, rule);
        module.changing.set(&self.change, self.normalize, layer)?;
        module.competition.inhibition = self.inhibition;
        module.competition.single_winner = self.single_winner;
        if let Some(homeostasis) = self.homeostasis {
            module = module.homeostasis(Homeostasis {
                v_threshold,
                ..homeostasis
            });
        }
        module.reward = self.reward.and_then(|reward| reward.0);
        b.expect_trainable(&module)?;
        b.leaf(layer.name(), module, weights, |elements| {
            window?.checked_mul(elements)
        })
    }
}

/// The layer whose weights change, the number of its weights, and that of one output.
type Synapses = (Box<dyn PlasticSynapses>, Option<usize>, Option<usize>);

impl PlasticKeys {
    fn synapses(&self, layer: &LayerFields<'_>, b: &Builder) -> Result<Synapses, Located> {
        let (keys, inner) = inner_layer(&self.synapses)?;
        let keys = keys.as_type();
        if let Some(linear) = keys.and_then(|keys| keys.downcast_ref::<LinearKeys>()) {
            let linear = linear.module(&inner, b)?;
            let weights = linear.inputs.checked_mul(linear.outputs);
            return Ok((Box::new(linear), weights, Some(linear.inputs)));
        }
        match keys.and_then(|keys| keys.downcast_ref::<ConvKeys>()) {
            Some(conv) => by_axes!(b.spatial_axes(&inner)?, convolution(conv, &inner, b)),
            None => Err(layer.wrong(layer.name(), "a layer `linear` or `conv`")),
        }
    }

    /// The neuron of the layer, or that of the network. With homeostasis its threshold has a value for each channel.
    fn neuron(&self, layer: &LayerFields<'_>, b: &Builder) -> Result<Arc<dyn Neuron>, Located> {
        if self.homeostasis.is_none() {
            return Ok(self.cell.neuron(b));
        }
        let mut spec = self.cell.spec().unwrap_or(&b.neuron_spec).clone();
        let trainable = inner(&mut spec, "params").and_then(|all| inner(all, "trainable"));
        if let Some(Value::Object(trainable)) = trainable {
            let by_channel = || Value::from("channel");
            trainable.entry("v_threshold").or_insert_with(by_channel);
        }
        neuron_of(&spec).map_err(|error| neuron_problem(error, layer.get("cell")))
    }
}

fn convolution<const D: usize>(
    keys: &ConvKeys,
    layer: &LayerFields<'_>,
    b: &Builder,
) -> Result<Synapses, Located> {
    let conv: Conv<D> = keys.fitting(layer, b)?;
    let window = conv.window(conv.inputs);
    let weights = window.and_then(|window| window.checked_mul(conv.outputs));
    Ok((Box::new(conv), weights, window))
}

/// The object of a key, empty if it is not there.
fn inner<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let empty = || Value::Object(Map::new());
    Some(value.as_object_mut()?.entry(key).or_insert_with(empty))
}

/// A [`ClassReward`], or `"signal"`: a program gives the reward.
#[derive(Clone, Copy, Debug, Default)]
struct Reward(Option<ClassReward>);

impl FieldValue for Reward {
    fn kind() -> Kind {
        Kind::Other(
            "a table with `classes`, or signal",
            || json!({"type": ["object", "string"]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        self.0 = match node.as_text() {
            Some(_) => node.choice(field.key, &["signal"]).map(|_| None)?,
            None => Some(spikelet_schema::read(node)?),
        };
        Ok(())
    }

    fn write(&self) -> Value {
        self.0.map_or(json!("signal"), |classes| json!(classes))
    }
}
