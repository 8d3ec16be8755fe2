//! Recurrent connections: the spikes of a neuron are added to its next input.
//!
//! S[t] = neuron(X[t] + W·S[t−1])
//!
//! Source: Bellec et al., Long short-term memory and learning-to-learn in networks of spiking
//! neurons, NeurIPS 2018; SpikingJelly's `LinearRecurrentContainer`.

use super::delay::FeedbackDelayKeys;
use super::{Linear, TimeLast};
use crate::module::{Context, Description, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerNeuron;
use crate::neuron::State;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// A neuron whose spikes are fed back to it: `[T, N, …] → [T, N, …]`, one time step after the other.
/// Parameters are named `neuron.…` and `feedback.…`; the last spikes are its state `spikes`, which starts from zeros
/// or from [`Context::start_from`].
///
/// The neuron may be any module that keeps the shape. The graph has one copy of it, as the body of a loop. For
/// several layers, and connections between them, see [`RecurrentBlock`](super::RecurrentBlock).
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Linear::new(20, 16))
///     .add(Recurrent::new(Lif::new(2.0), 16))
///     .add(Linear::new(16, 10));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// assert_eq!(cx.traced().parameters[2].name, "1.feedback.weight");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "LinearRecurrentContainer")]
pub struct Recurrent {
    neuron: Box<dyn Module>,
    feedback: Box<dyn Module>,
    fed: Option<State>,
    last: bool,
    local: bool,
}

impl Recurrent {
    /// A neuron, or another module with a state, whose `features` outputs are fed back through a weight matrix.
    pub fn new(neuron: impl Module + 'static, features: usize) -> Self {
        Self::through(neuron, Linear::new(features, features).bias(false))
    }

    /// The same with another feedback module, such as a convolution with outputs of the shape of its inputs.
    pub fn through(neuron: impl Module + 'static, feedback: impl Module + 'static) -> Self {
        Self {
            neuron: Box::new(neuron),
            feedback: Box::new(feedback),
            fed: None,
            last: false,
            local: false,
        }
    }

    /// Feeds back a state of the neuron, which holds the spikes of the step before, instead of a state `spikes` of its own:
    /// what the neuron's equation reads and what is fed back are then the same, also before the first step.
    #[must_use]
    pub fn feeding(mut self, state: State) -> Self {
        self.fed = Some(state);
        self
    }

    /// Lets the spikes that are fed back have no gradient: what remains is the gradient through the states of each neuron,
    /// that of e-prop ([`learning::Eprop`](crate::learning::Eprop)). The feedback module is trained as well.
    #[must_use]
    pub fn local_gradient(mut self) -> Self {
        self.local = true;
        self
    }

    /// The neuron.
    pub fn neuron(&self) -> &dyn Module {
        &*self.neuron
    }

    /// The module through which spikes are fed back.
    pub fn feedback(&self) -> &dyn Module {
        &*self.feedback
    }

    /// Whether the outputs of the neuron are fed back, not one of its states.
    pub fn feeds_outputs(&self) -> bool {
        self.fed.is_none()
    }

    /// Whether it returns the last step only.
    pub fn returns_last(&self) -> bool {
        self.last
    }

    /// What is printed of it.
    pub(super) fn settings(&self) -> &'static str {
        match self.local {
            true => "local_gradient=true",
            false => "",
        }
    }

    /// Returns only the last time step, `[1, N, …]`.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.last = true;
        self
    }
}

impl Module for Recurrent {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("recurrent", x, 2)?;
        let shape = x.shape()[1..].to_vec();
        let y = cx.step_loop(x, |x| {
            let before = match &self.fed {
                Some(state) => {
                    cx.state_of_child("neuron", state.name, |cx| state.trace(cx, &shape))?
                }
                None => cx.state("spikes", shape.clone(), 0.0),
            };
            let spikes = before.expand(&shape[..]).reshape(x.shape());
            let spikes = if self.local { spikes.detach() } else { spikes };
            let fed = cx.child("feedback", |cx| self.feedback.forward(cx, &spikes))?;
            let y = cx.child("neuron", |cx| self.neuron.forward(cx, &(x + fed)))?;
            if self.fed.is_none() {
                let after = y.cast(cx.tracer().float()).reshape(&shape[..]);
                cx.set_state(&before, &after);
            }
            Ok(y)
        })?;
        match self.last {
            true => TimeLast.forward(cx, &y.join()),
            false => Ok(y.join()),
        }
    }

    fn tree(&self) -> Tree {
        let tree = Tree::for_type::<Self>().settings(self.settings());
        let tree = tree.child("feedback", &*self.feedback);
        tree.child("neuron", &*self.neuron)
    }

    fn describe(&self) -> Description<'_> {
        Description::Recurrent(self)
    }
}

print_as_tree!(Recurrent);

/// What the layers with recurrent connections return and learn.
#[derive(Debug, Schema)]
pub(super) struct FeedbackKeys {
    /// Whether there is a bias.
    pub(super) bias: bool,
    /// Whether only the last time step is returned.
    pub(super) last: bool,
    /// Whether spikes that are fed back have no gradient, as in e-prop.
    pub(super) local_gradient: bool,
}

/// Neurons with recurrent connections, which may have learned delays.
///
/// `"recurrent"`, `{ recurrent = "lif" }`, `{ recurrent = "lif", max_delay = 10 }`
#[derive(Debug, Schema)]
#[schema(name = "recurrent")]
pub(crate) struct RecurrentKeys {
    /// The name of a neuron, or a table with `name` and constants.
    #[schema(main)]
    neuron: LayerNeuron,
    #[schema(flatten)]
    feedback: FeedbackKeys,
    #[schema(flatten)]
    delays: FeedbackDelayKeys,
}

impl LayerKeys for RecurrentKeys {
    const OTHER_NAMES: &[&str] = &["delayed-recurrent", "delrec"];
    const EXAMPLE: (&[usize], &str) = (&[8], r#"{ recurrent = "lif" }"#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (neuron, features) = (self.neuron.neuron(b), b.features(layer)?);
        let FeedbackKeys {
            bias,
            last,
            local_gradient,
        } = self.feedback;
        let weights = features.checked_mul(features);
        let (mut module, trained) = match self.delays.feedback(layer, features)? {
            Some(_) if bias => {
                return Err(layer.wrong("bias", "false, as delayed currents have none"));
            }
            Some((feedback, trained)) => (Recurrent::through(neuron, feedback), trained),
            None => {
                let feedback = Linear::new(features, features).bias(bias);
                (Recurrent::through(neuron, feedback), weights)
            }
        };
        (module.last, module.local) = (last, local_gradient);
        b.leaf(layer.name(), module, trained, |_| weights)
    }
}
