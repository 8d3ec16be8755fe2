//! Neurons whose recurrent connections have a learning rule.

use super::changing_synapses::{ChangeKeys, ChangingSynapses, RuleKey};
use super::{LearningRule, PlasticSynapses, Update};
use crate::layer::Feedback;
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::{LayerNeuron, WeightInit};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Neurons with recurrent connections whose weights change by a learning rule: `[T, N, …] → [T, N, …]`, with
/// S\[t\] = neuron(X\[t\] + W·S\[t−1\]).
///
/// The presynaptic spikes of a step are those that the neurons had in the step before, which arrive in it; the postsynaptic
/// ones those of the step. The weight is the buffer `feedback.weight`, a row for each neuron that receives, or with
/// [`Update::Gradient`] a parameter of that name; the last spikes are the state `spikes`. When the weights change, and what
/// is recorded, is as in [`Plastic`](super::Plastic); so are the settings.
///
/// As the neuron of a [`Plastic`](super::Plastic) layer, the weights of the input and the recurrent ones each have a rule:
///
/// ```
/// use spikelet_nn::learning::{PairStdp, Plastic, PlasticRecurrent, Stdp};
/// use spikelet_nn::layer::Feedback;
/// use spikelet_nn::prelude::*;
/// let connections = Feedback::new(100).zero_diagonal(true);
/// let neurons = PlasticRecurrent::new(connections, Lif::new(2.0), Stdp::default()).lr(0.01);
/// let layer = Plastic::new(Linear::new(784, 100).bias(false), neurons, PairStdp::default());
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [10, 1, 784]);
/// assert_eq!(cx.trace(&layer, x)?.shape(), [10, 1, 100]);
/// assert_eq!(cx.traced().buffers[1].name, "neuron.feedback.weight");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub struct PlasticRecurrent {
    changing: ChangingSynapses,
    neuron: Box<dyn Module>,
}

/// The name of the connections in the layer.
const FEEDBACK: &str = "feedback";

impl PlasticRecurrent {
    /// Connections with outputs of the shape of their inputs, the neurons, and the rule.
    pub fn new(
        feedback: impl PlasticSynapses + 'static,
        neuron: impl Module + 'static,
        rule: impl LearningRule + 'static,
    ) -> Self {
        Self {
            changing: ChangingSynapses::new(FEEDBACK, feedback, rule),
            neuron: Box::new(neuron),
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

    /// Sets the interval to which weights are clamped after a change, as [`Plastic::bounds`](super::Plastic::bounds).
    #[must_use]
    pub fn bounds(mut self, low: f64, high: f64) -> Self {
        self.changing.bounds = Some([low, high]);
        self
    }

    /// Scales the recurrent weights of each neuron to this sum at the beginning of a call.
    #[must_use]
    pub fn normalize(mut self, sum: f64) -> Self {
        self.changing.normalize = Some(sum);
        self
    }

    /// The spikes of the step before, `[N, …]`.
    fn before(cx: &Context, x: &Var) -> Var {
        let shape = &x.shape()[1..];
        cx.state("spikes", shape, 0.0).expand(shape)
    }

    fn spikes(&self, cx: &Context, weight: &Var, x: &Var) -> Result<Var> {
        let steps = cx.step_loop(x, |x| {
            let before = Self::before(cx, &x).reshape(x.shape());
            let fed = self.changing.currents(cx, weight, before)?;
            let spikes = cx.child("neuron", |cx| self.neuron.forward(cx, &(&x + fed)))?;
            let state = cx.state("spikes", &x.shape()[1..], 0.0);
            let after = spikes.cast(cx.tracer().float()).reshape(&x.shape()[1..]);
            cx.set_state(&state, &after);
            Ok(spikes)
        })?;
        Ok(steps.join())
    }

    /// The spikes; the weight changes by the steps of `x`.
    fn run(&self, cx: &Context, x: &Var) -> Result<Var> {
        let weight = self.changing.weight(cx)?;
        if !self.changing.learns(cx) {
            return self.spikes(cx, &weight, x);
        }
        let first = Self::before(cx, x).unsqueeze(0).detach();
        let spikes = self.spikes(cx, &weight, x)?;
        let pre = match x.dim(0) {
            1 => first,
            steps => {
                let earlier = spikes.slice(0, 0..steps - 1).cast(first.ty().dtype);
                Var::concat(&[&first, &earlier.detach()], 0)
            }
        };
        self.changing.change(cx, &weight, &pre, &spikes)?;
        Ok(spikes)
    }
}

impl Module for PlasticRecurrent {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        const WHAT: &str = "plastic recurrent layer";
        cx.expect_rank(WHAT, x, 3)?;
        self.changing.check(cx, WHAT)?;
        match self.changing.update == Update::EachStep && self.changing.learns(cx) {
            true => Ok(cx.step_loop(x, |x| self.run(cx, &x))?.join()),
            false => self.run(cx, x),
        }
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>()
            .child(FEEDBACK, &*self.changing.synapses)
            .child("neuron", &*self.neuron)
            .child_tree("rule", Tree::fields(&self.changing.rule))
    }
}

print_as_tree!(PlasticRecurrent);

/// Neurons with recurrent connections that have a learning rule.
///
/// `{ plastic-recurrent = "lif", rule = "pair-stdp" }`
#[derive(Debug, Schema)]
#[schema(name = "plastic-recurrent")]
pub(crate) struct PlasticRecurrentKeys {
    /// The name of a neuron, or a table with `name` and constants.
    #[schema(main, required)]
    neuron: LayerNeuron,
    /// The learning rule: `stdp`, `pair-stdp`, `triplet-stdp`, `reward-stdp`, `reward-trace-stdp`, or a table with `name` and constants.
    #[schema(required)]
    rule: RuleKey,
    #[schema(flatten)]
    change: ChangeKeys,
    /// The sum of the recurrent weights of each neuron at the beginning of a call.
    #[schema(above = 0)]
    normalize: Option<f64>,
    /// Whether neurons have no connection to themselves.
    zero_diagonal: bool,
    /// Initial weights, as of `Linear`; by default orthogonal.
    init: Option<WeightInit>,
}

impl LayerKeys for PlasticRecurrentKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], r#"{ plastic-recurrent = "lif", rule = "stdp" }"#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (neuron, features) = (self.neuron.neuron(b), b.features(layer)?);
        let rule = self.rule.rule(layer, false)?;
        let mut feedback = Feedback::new(features).zero_diagonal(self.zero_diagonal);
        let init = self.init.and_then(|init| init.of(features));
        feedback.weight_init = init.unwrap_or(feedback.weight_init);
        let mut module = PlasticRecurrent::new(feedback, neuron, rule);
        module.changing.set(&self.change, self.normalize, layer)?;
        b.expect_trainable(&module)?;
        b.fully_connected(layer, module, features.checked_mul(features))
    }
}
