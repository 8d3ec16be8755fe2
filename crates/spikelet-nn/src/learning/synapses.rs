//! The layers whose weights a learning rule can change.

use super::LearningError;
use crate::layer::{Conv, Feedback, Linear, channels_last};
use crate::module::{Context, Init, Module, Tree};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::{ConvPart, MatMul};

/// A layer that is linear in its parameter `weight`.
pub trait PlasticSynapses: Module {
    /// The shape of the weight and its initial values.
    fn weight(&self) -> (Vec<usize>, Init);

    /// Σ post · pre over all steps, samples and positions, in the shape of the weight; `pre` has the shape of the layer's
    /// input, `post` that of its output.
    fn products(&self, pre: &Var, post: &Var) -> Var;

    /// Whether each output has one synapse from each input: values of one synapse and sample are `[N, out, in]`.
    fn is_dense(&self) -> bool;

    /// As [`Module::forward`], for the spikes of one time step: layers may skip zeros, in another order of the sums.
    ///
    /// # Errors
    /// As [`Module::forward`].
    fn forward_step(&self, cx: &Context, x: Var) -> Result<Var> {
        self.forward(cx, &x)
    }

    /// Checks that a rule can change the weights.
    ///
    /// # Errors
    /// [`LearningError::Synapses`] for a setting that is not supported.
    fn check(&self) -> std::result::Result<(), LearningError> {
        Ok(())
    }
}

impl Module for Box<dyn PlasticSynapses> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        (**self).forward(cx, x)
    }

    fn tree(&self) -> Tree {
        (**self).tree()
    }
}

impl PlasticSynapses for Box<dyn PlasticSynapses> {
    fn weight(&self) -> (Vec<usize>, Init) {
        (**self).weight()
    }

    fn products(&self, pre: &Var, post: &Var) -> Var {
        (**self).products(pre, post)
    }

    fn is_dense(&self) -> bool {
        (**self).is_dense()
    }

    fn forward_step(&self, cx: &Context, x: Var) -> Result<Var> {
        (**self).forward_step(cx, x)
    }

    fn check(&self) -> std::result::Result<(), LearningError> {
        (**self).check()
    }
}

impl PlasticSynapses for Linear {
    fn weight(&self) -> (Vec<usize>, Init) {
        let init = self.weight_init.unwrap_or(Init::fan_in(self.inputs));
        (vec![self.outputs, self.inputs], init)
    }

    fn products(&self, pre: &Var, post: &Var) -> Var {
        pre.tracer().apply1(MatMul::new(true, false), &[post, pre])
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn forward_step(&self, cx: &Context, x: Var) -> Result<Var> {
        self.forward_sparse(cx, &x)
    }
}

/// Weights of neurons with themselves, where these have no such connection, change and have no effect.
impl PlasticSynapses for Feedback {
    fn weight(&self) -> (Vec<usize>, Init) {
        (vec![self.features, self.features], self.weight_init)
    }

    fn products(&self, pre: &Var, post: &Var) -> Var {
        Linear::new(self.features, self.features).products(pre, post)
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn forward_step(&self, cx: &Context, x: Var) -> Result<Var> {
        self.forward_changing(cx, &x)
    }
}

impl<const D: usize> PlasticSynapses for Conv<D> {
    fn weight(&self) -> (Vec<usize>, Init) {
        let window: usize = self.kernel.iter().product();
        let init = Init::fan_in(self.inputs * window);
        let shape = [&[self.outputs, self.inputs][..], &self.kernel].concat();
        (shape, self.weight_init.unwrap_or(init))
    }

    fn products(&self, pre: &Var, post: &Var) -> Var {
        let op = self.op().part(ConvPart::Weight, self.kernel);
        let (pre, post) = (channels_last(pre), channels_last(post));
        // [out, kernel…, in]
        let made = pre.tracer().apply1(op, &[&pre, &post]);
        let mut order = vec![0, D + 1];
        order.extend(1..=D);
        made.permute(&order)
    }

    fn is_dense(&self) -> bool {
        false
    }

    fn check(&self) -> std::result::Result<(), LearningError> {
        let dilation = self.dilation.iter().map(|&n| ("dilation", n));
        let mut settings = dilation.chain([("groups", self.groups)]);
        match settings.find(|(_, given)| *given != 1) {
            None => Ok(()),
            Some((setting, given)) => Err(LearningError::Synapses {
                setting,
                given,
                expected: 1,
            }),
        }
    }
}
