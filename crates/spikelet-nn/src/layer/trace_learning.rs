//! Online training: a layer whose weights are trained with traces of spikes instead of the spikes.
//!
//! Forward, y = M(S); backward, y = M(A), with A the trace of the neuron's spikes: the gradient of the weights of M
//! is computed from A, and the gradient with respect to A is passed to S. With a neuron whose potential has
//! no gradient through time this is online training: no step needs the values of earlier steps.
//!
//! Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.

use crate::LayerProblem;
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::neuron::Neuron;
use crate::neuron::spiking::spiking;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use std::sync::Arc;

/// A neuron with a state `trace`, and the module after it; parameters are named `neuron.…` and `then.…`.
///
/// The module after it runs on the spikes and on the trace. It must not have states or random numbers.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Linear::new(20, 16))
///     .add(TraceLearning::new(OtttLif::default(), Linear::new(16, 10)));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub struct TraceLearning {
    neuron: Arc<dyn Neuron>,
    then: Box<dyn Module>,
}

impl TraceLearning {
    /// A neuron, and the layer that is trained with its trace.
    pub fn new(neuron: impl Neuron + 'static, then: impl Module + 'static) -> Self {
        Self::of(Arc::new(neuron), then)
    }

    /// The same with a shared neuron, such as one that was built from a specification.
    pub fn of(neuron: Arc<dyn Neuron>, then: impl Module + 'static) -> Self {
        Self {
            neuron,
            then: Box::new(then),
        }
    }
}

/// The value of one, the derivative of the other.
fn custom_gradient(value: &Var, tangent: &Var) -> Var {
    Var::map(&[value, tangent], |x| Expr::custom_gradient(&x[0], &x[1]))
}

impl Module for TraceLearning {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        let made = cx.child("neuron", |cx| spiking(&*self.neuron, cx, x))?;
        let Some(trace) = made.state_seq("trace") else {
            let neuron = self.neuron.name().to_string();
            return Err(cx.error("layer", LayerProblem::NoTrace { neuron }));
        };
        let then = |x: Var| cx.child("then", |cx| self.then.forward(cx, x));
        if !cx.mode().training {
            return then(made.out);
        }
        let learns_from = then(custom_gradient(trace, &made.out))?;
        Ok(custom_gradient(&then(made.out)?, &learns_from))
    }

    fn tree(&self) -> Tree {
        let tree = Tree::for_type::<Self>().child("neuron", &self.neuron);
        tree.child("then", &*self.then)
    }
}

print_as_tree!(TraceLearning);
