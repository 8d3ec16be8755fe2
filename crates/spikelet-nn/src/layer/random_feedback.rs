//! A linear layer whose error is passed back through other weights than those of its forward pass.
//!
//! Forward, y = W·x; backward, dL/dW = dL/dy·xᵀ and dL/dx = B·dL/dy.
//!
//! Source: Lillicrap et al., Random synaptic feedback weights support error backpropagation for deep learning, Nature
//! Communications 2016; adaptive feedback: Kolen and Pollack, Backpropagation without weight transport, 1994; Bellec et
//! al., Nature Communications 2020.

use super::Linear;
use crate::module::{Context, Init, Module, Tree};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;

/// Linear layer with feedback weights of its own: `[…, in] → […, out]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight`, `bias` | | as those of [`Linear`] |
/// | `feedback` | `[out, in]` | normal with standard deviation 1/√out; a buffer, or a parameter if it is adaptive |
///
/// As the readout of a recurrent layer with a [local gradient](super::Recurrent::local_gradient) it gives the random or
/// adaptive variant of e-prop.
///
/// ```
/// use spikelet_nn::layer::RandomFeedback;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Linear::new(20, 16))
///     .add(Recurrent::new(Lif::new(20.0), 16).local_gradient())
///     .add(RandomFeedback::new(16, 2));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 4, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 4, 2]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "FeedbackAlignment")]
pub struct RandomFeedback {
    /// The forward pass.
    pub linear: Linear,
    /// Whether the feedback weights get the gradient of the weights.
    pub adaptive: bool,
}

impl RandomFeedback {
    /// A layer without bias, with fixed feedback weights.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            linear: Linear::new(inputs, outputs).bias(false),
            adaptive: false,
        }
    }

    /// Sets whether the feedback weights are trained by the gradient of the weights: with weight decay both become equal.
    #[must_use]
    pub fn adaptive(mut self, yes: bool) -> Self {
        self.adaptive = yes;
        self
    }
}

impl Module for RandomFeedback {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let shape = [self.linear.outputs, self.linear.inputs];
        let deviation = 1.0 / (self.linear.outputs.max(1) as f64).sqrt();
        let init = Init::Normal { deviation };
        let y = self.linear.forward(cx, &x.detach())?;
        let feedback = match self.adaptive {
            true => cx.parameter("feedback", shape, init),
            false => cx.buffer("feedback", shape, init),
        };
        let mut tangent = &y + x.linear(&feedback.detach());
        if self.adaptive {
            tangent = tangent + x.detach().linear(&feedback);
        }
        Ok(Var::map(&[&y, &tangent], |v| {
            Expr::custom_gradient(&v[0], &v[1])
        }))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
