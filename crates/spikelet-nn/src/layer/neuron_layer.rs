//! A complete layer of neurons: weights, normalization, neurons, feedback, dropout.
//!
//! C = norm(X·Wᵀ + b), S[t] = neuron(C[t] + S[t−1]·Vᵀ + b_v), Y = dropout(S)
//!
//! The product and the normalization run on all time steps at once; only the feedback is computed step by step. What
//! feeds back is not dropped.

use super::{BatchNorm1d, Dropout, Feedback, Linear, Recurrent};
use crate::module::{Context, Description, Module, Tree, print_as_tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields};
use crate::network::neuron::neuron_problem;
use crate::network::values::Constants;
use crate::neuron::Neuron;
use crate::neuron::trainables;

use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The parts of a [`NeuronLayer`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NeuronLayerParts<N> {
    /// The weights of the input.
    pub linear: Linear,
    /// The normalization of the weighted input, over time and batch, or at each time step over the batch.
    pub norm: Option<BatchNorm1d>,
    /// The neuron.
    pub neuron: N,
    /// The weights of the spikes that are fed back.
    pub feedback: Option<Feedback>,
    /// Dropout of the output.
    pub dropout: Option<Dropout>,
    /// Whether the layer also runs on the sequence in reverse.
    pub bidirectional: bool,
}

impl<N> NeuronLayerParts<N> {
    /// A linear layer without bias and a neuron.
    pub fn new(inputs: usize, features: usize, neuron: N) -> Self {
        Self {
            linear: Linear::new(inputs, features).bias(false),
            norm: None,
            neuron,
            feedback: None,
            dropout: None,
            bidirectional: false,
        }
    }
}

/// The neuron and the defaults of a published layer.
pub trait NeuronLayerKind: Send + Sync + 'static {
    /// The neuron.
    type Neuron: Neuron + Schema + Clone;

    /// The name of the layer.
    const NAME: &'static str;

    /// The parts of a layer of `features` neurons, as published.
    fn parts(inputs: usize, features: usize) -> NeuronLayerParts<Self::Neuron>;
}

/// A layer of neurons with the weights of its input: `[T, N, inputs] → [T, N, features]`; with a readout
/// `[1, N, features]`. [`RadLif`](super::RadLif) and others are layers of this type with published defaults.
///
/// | parameters | |
/// |---|---|
/// | `linear.weight`, `linear.bias` | weights of the input |
/// | `norm.…` | batch normalization over time and batch |
/// | `neuron.…` | trained constants of the neuron |
/// | `feedback.weight`, `feedback.bias` | weights of the feedback, a row for each neuron that receives |
///
/// ```
/// use spikelet_nn::layer::{RadLif, SparchReadout};
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(RadLif::new(20, 16).dropout(0.1))
///     .add(RadLif::new(16, 16).bidirectional(true))
///     .add(SparchReadout::new(32, 10));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [1, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub struct NeuronLayer<K: NeuronLayerKind> {
    parts: NeuronLayerParts<K::Neuron>,
}

impl<K: NeuronLayerKind> NeuronLayer<K> {
    /// A layer of `features` neurons with the published defaults.
    pub fn new(inputs: usize, features: usize) -> Self {
        Self {
            parts: K::parts(inputs, features),
        }
    }

    /// The parts.
    pub fn parts(&self) -> &NeuronLayerParts<K::Neuron> {
        &self.parts
    }

    /// Changes the parts, such as the initialization of the weights. Sizes stay.
    ///
    /// ```
    /// use spikelet_nn::layer::RadLif;
    /// use spikelet_nn::prelude::*;
    /// let layer = RadLif::new(20, 16).with(|parts| {
    ///     parts.linear.weight_init = Some(Init::Orthogonal);
    ///     parts.dropout = Some(Dropout::new(0.1)); // one mask for all time steps
    /// });
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut NeuronLayerParts<K::Neuron>)) -> Self {
        change(&mut self.parts);
        self
    }

    /// Changes the neuron.
    ///
    /// ```
    /// use spikelet_nn::layer::SeAdLif;
    /// use spikelet_nn::neuron::SeAdLifCell;
    /// use spikelet_nn::prelude::*;
    /// let layer = SeAdLif::new(20, 16).neuron(|cell| SeAdLifCell { q: 60.0, ..cell });
    /// assert_eq!(layer.parts().neuron.q, 60.0);
    /// ```
    #[must_use]
    pub fn neuron(mut self, change: impl FnOnce(K::Neuron) -> K::Neuron) -> Self {
        self.parts.neuron = change(self.parts.neuron);
        self
    }

    /// Sets whether a bias is added to the weighted input.
    #[must_use]
    pub fn bias(mut self, yes: bool) -> Self {
        self.parts.linear.bias = yes;
        self
    }

    /// Sets whether the weighted input is normalized over time and batch; with momentum 0.05, unless the published
    /// layer has another.
    #[must_use]
    pub fn normalize(mut self, yes: bool) -> Self {
        let features = self.parts.linear.outputs;
        self.parts.norm = match (yes, self.parts.norm) {
            (false, _) => None,
            (true, Some(norm)) => Some(norm),
            (true, None) => Some(BatchNorm1d::new(features).momentum(0.05)),
        };
        self
    }

    /// Sets whether the weighted input is normalized at each time step with mean and variance of that step
    /// ([`BatchNorm1d::each_step`]); adds the normalization of [`normalize`](Self::normalize) if there is none.
    ///
    /// ```
    /// use spikelet_nn::layer::SeAdLif;
    /// use spikelet_nn::prelude::*;
    /// let layer = SeAdLif::new(20, 16).normalize_each_step(true);
    /// assert!(layer.parts().norm.is_some_and(|norm| norm.each_step));
    /// ```
    #[must_use]
    pub fn normalize_each_step(mut self, yes: bool) -> Self {
        if yes {
            self = self.normalize(true);
        }
        self.parts.norm = self.parts.norm.map(|norm| norm.each_step(yes));
        self
    }

    /// Sets whether spikes are fed back; with orthogonal weights, unless the published layer has others.
    #[must_use]
    pub fn recurrent(mut self, yes: bool) -> Self {
        let features = self.parts.linear.outputs;
        self.parts.feedback = match (yes, self.parts.feedback) {
            (false, _) => None,
            (true, Some(feedback)) => Some(feedback),
            (true, None) => Some(Feedback::new(features)),
        };
        self
    }

    /// Sets whether neurons have no connection to themselves, if there is feedback.
    #[must_use]
    pub fn zero_diagonal(mut self, yes: bool) -> Self {
        self.parts.feedback = self
            .parts
            .feedback
            .map(|weights| weights.zero_diagonal(yes));
        self
    }

    /// Drops spikes with probability `p` during training, with a new mask at each time step.
    #[must_use]
    pub fn dropout(mut self, p: f64) -> Self {
        self.parts.dropout = Some(Dropout::new(p).each_step(true));
        self
    }

    /// Sets whether the layer also runs, with the same weights, on the sequence in reverse. The two outputs are joined
    /// in the order of time: `[T, N, 2·features]`. All time steps must be there at once.
    #[must_use]
    pub fn bidirectional(mut self, yes: bool) -> Self {
        self.parts.bidirectional = yes;
        self
    }
}

impl<K: NeuronLayerKind> Clone for NeuronLayer<K> {
    fn clone(&self) -> Self {
        Self {
            parts: self.parts.clone(),
        }
    }
}

impl<K: NeuronLayerKind> Module for NeuronLayer<K> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let parts = &self.parts;
        let batch = match x.rank() {
            3 => x.dim(1),
            _ => {
                cx.expect_rank(K::NAME, x, 3)?;
                return cx.child("linear", |cx| parts.linear.forward(cx, x));
            }
        };
        let x = match parts.bidirectional {
            true => {
                cx.expect_all_steps("bidirectional")?;
                Var::concat(&[x, &x.flip(0)], 1)
            }
            false => x.clone(),
        };
        let mut current = cx.child("linear", |cx| parts.linear.forward(cx, &x))?;
        if let Some(norm) = &parts.norm {
            current = cx.child("norm", |cx| norm.forward(cx, &current))?;
        }
        if cx.watches() {
            cx.record("current_seq", &current);
        }
        let neuron = parts.neuron.clone();
        let mut y = match parts.feedback {
            Some(feedback) => {
                let states = neuron.states();
                let mut layer = Recurrent::through(neuron, feedback);
                if let Some(fired) = states.into_iter().find(|state| state.name == "fired") {
                    layer = layer.feeding(fired);
                }
                layer.forward(cx, &current)?
            }
            None => cx.child("neuron", |cx| neuron.forward(cx, &current))?,
        };
        if parts.bidirectional {
            let there = y.slice(1, 0..batch);
            let back = y.slice(1, batch..2 * batch).flip(0);
            y = Var::concat(&[&there, &back], 2);
        }
        match &parts.dropout {
            Some(dropout) => cx.child("dropout", |cx| dropout.forward(cx, &y)),
            None => Ok(y),
        }
    }

    fn tree(&self) -> Tree {
        let parts = &self.parts;
        let settings = match parts.bidirectional {
            true => format!("{}, bidirectional", K::NAME),
            false => K::NAME.to_string(),
        };
        let tree = Tree::for_type::<Self>().settings(settings);
        let mut tree = tree.child("linear", &parts.linear);
        if let Some(norm) = &parts.norm {
            tree = tree.child("norm", norm);
        }
        tree = tree.child("neuron", &parts.neuron);
        if let Some(feedback) = &parts.feedback {
            tree = tree.child("feedback", feedback);
        }
        match &parts.dropout {
            Some(dropout) => tree.child("dropout", dropout),
            None => tree,
        }
    }

    fn describe(&self) -> Description<'_> {
        let parts = &self.parts;
        Description::NeuronLayer(Box::new(NeuronLayerParts {
            linear: parts.linear,
            norm: parts.norm,
            neuron: &parts.neuron,
            feedback: parts.feedback,
            dropout: parts.dropout,
            bidirectional: parts.bidirectional,
        }))
    }
}

print_as_tree!({K: NeuronLayerKind} NeuronLayer<K>);

/// The keys of these layers in files, such as `{ radlif = 128, dropout_p = 0.1, constants = { w = 0.5 } }`.
#[derive(Debug, Schema)]
pub(super) struct NeuronLayerKeys {
    /// The number of neurons.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    features: usize,
    /// Whether there is a bias; by default as published.
    bias: Option<bool>,
    /// Whether there is batch norm; by default as published.
    normalize: Option<bool>,
    /// Whether batch norm has statistics of each step; by default as published.
    normalize_each_step: Option<bool>,
    /// Whether spikes are fed back; by default as published.
    feedback: Option<bool>,
    /// Whether neurons have no connection to themselves; by default as published.
    zero_diagonal: Option<bool>,
    /// The probability of dropout, below 1.
    #[schema(from = 0, below = 1)]
    dropout_p: f64,
    /// Whether the sequence is processed in both directions; by default as published.
    bidirectional: Option<bool>,
    /// Constants of the neuron that differ from the published ones.
    constants: Constants,
}

impl NeuronLayerKeys {
    /// Builds a layer of a file.
    pub(super) fn build<K: NeuronLayerKind>(
        &self,
        layer: &LayerFields<'_>,
        b: &mut Builder,
    ) -> Built {
        let (features, inputs) = (self.features, b.features(layer)?);
        let mut module = NeuronLayer::<K>::new(inputs, features);
        type Change<K> = fn(NeuronLayer<K>, bool) -> NeuronLayer<K>;
        let changes: [(_, Change<K>); 6] = [
            (self.bias, NeuronLayer::bias),
            (self.normalize, NeuronLayer::normalize),
            (self.normalize_each_step, NeuronLayer::normalize_each_step),
            (self.feedback, NeuronLayer::recurrent),
            (self.zero_diagonal, NeuronLayer::zero_diagonal),
            (self.bidirectional, NeuronLayer::bidirectional),
        ];
        for (given, change) in changes {
            if let Some(yes) = given {
                module = change(module, yes);
            }
        }
        if self.dropout_p > 0.0 {
            module = module.dropout(self.dropout_p);
        }
        if let Some(node) = self.constants.given() {
            let neuron = &mut module.parts.neuron;
            spikelet_schema::read_into(neuron, node)?;
            trainables(neuron).map_err(|error| neuron_problem(error, Some(node)))?;
        }
        let fed_back = module.parts.feedback.map_or(0, |_| features);
        let rows = inputs.checked_add(fed_back);
        b.fully_connected(
            layer,
            module,
            rows.and_then(|rows| rows.checked_mul(features)),
        )
    }
}
