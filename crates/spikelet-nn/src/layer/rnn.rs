//! A recurrent layer: a linear layer and a neuron with recurrent connections.
//!
//! S[t] = neuron(W·X[t] + U·S[t−1])

use super::recurrent::FeedbackKeys;
use super::{Linear, Recurrent};
use crate::module::{Context, Description, Module, Tree, print_as_tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerNeuron;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// A linear layer, then a neuron whose spikes are fed back to it: `[T, N, in] → [T, N, hidden]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `input.weight` | `[hidden, in]` | uniform, bound 1/√in |
/// | `input.bias` | `[hidden]` | the same; only with `bias(true)` |
/// | `feedback.weight` | `[hidden, hidden]` | uniform, bound 1/√hidden |
/// | `neuron.…` | | the trainable constants of the neuron |
///
/// The state `spikes`, `[N, hidden]`, has the last spikes; with those of the neuron, such as `neuron.v`, it starts from
/// its reset value or from [`Context::start_from`].
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Rnn::new(Lif::new(2.0), 20, 16))
///     .add(Rnn::new(Lif::new(2.0), 16, 10).bias(true).last());
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [1, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "RLIF")]
#[doc(alias = "RSNN")]
pub struct Rnn {
    input: Linear,
    recurrent: Recurrent,
}

impl Rnn {
    /// A layer of `hidden` neurons with `inputs` inputs.
    pub fn new(neuron: impl Module + 'static, inputs: usize, hidden: usize) -> Self {
        Self {
            input: Linear::new(inputs, hidden).bias(false),
            recurrent: Recurrent::new(neuron, hidden),
        }
    }

    /// Sets whether a bias is added to the input.
    #[must_use]
    pub fn bias(mut self, yes: bool) -> Self {
        self.input = self.input.bias(yes);
        self
    }

    /// Returns only the last time step, `[1, N, hidden]`.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.recurrent = self.recurrent.last();
        self
    }

    /// Lets the spikes that are fed back have no gradient: e-prop. See [`Recurrent::local_gradient`].
    #[must_use]
    pub fn local_gradient(mut self) -> Self {
        self.recurrent = self.recurrent.local_gradient();
        self
    }
}

impl Module for Rnn {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let x = cx.child("input", |cx| self.input.forward(cx, x))?;
        self.recurrent.forward(cx, &x)
    }

    fn tree(&self) -> Tree {
        let tree = Tree::for_type::<Self>().settings(self.recurrent.settings());
        let tree = tree.child("input", &self.input);
        tree.children_of(self.recurrent.tree())
    }

    fn describe(&self) -> Description<'_> {
        Description::Sequence(vec![("input", &self.input), ("", &self.recurrent)])
    }
}

print_as_tree!(Rnn);

/// Fully connected layer and neurons with recurrent connections.
///
/// `{ rnn = 128, cell = "lif" }`
#[derive(Debug, Schema)]
#[schema(name = "rnn")]
pub(crate) struct RnnKeys {
    /// The number of neurons.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    features: usize,
    /// The neuron; by default the network's.
    cell: LayerNeuron,
    #[schema(flatten)]
    feedback: FeedbackKeys,
}

impl LayerKeys for RnnKeys {
    const OTHER_NAMES: &[&str] = &["rsnn"];
    const EXAMPLE: (&[usize], &str) = (&[8], "{ rnn = 6 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (hidden, inputs) = (self.features, b.features(layer)?);
        let neuron = self.cell.neuron(b);
        let mut module = Rnn::new(neuron, inputs, hidden).bias(self.feedback.bias);
        if self.feedback.last {
            module = module.last();
        }
        if self.feedback.local_gradient {
            module = module.local_gradient();
        }
        let rows = inputs.checked_add(hidden);
        b.fully_connected(
            layer,
            module,
            rows.and_then(|rows| rows.checked_mul(hidden)),
        )
    }
}
