//! The weights of recurrent connections inside a layer.
//!
//! y = s·W₀ᵀ + b, with W₀ the weight with a diagonal of zeros, if neurons have no connection to themselves.

use super::{Linear, setters};
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Init, Module, Tree};
use crate::synapses::Synapses;
use spikelet_core::Result;
use spikelet_graph::Var;

/// The product of spikes with a square weight matrix: `[…, features] → […, features]`. The feedback of
/// [`Recurrent`](super::Recurrent).
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[features, features]`, a row for each neuron that receives | orthogonal, or [`weight_init`](Self::weight_init) |
/// | `bias` | `[features]` | 0; only with `bias(true)` |
///
/// ```
/// use spikelet_nn::layer::Feedback;
/// use spikelet_nn::prelude::*;
/// let net = Recurrent::through(Lif::new(2.0), Feedback::new(16).zero_diagonal(true));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 16]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 16]);
/// assert_eq!(cx.traced().parameters[0].name, "feedback.weight");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The number of neurons.
    pub features: usize,
    /// Whether a bias is added, also where nothing fired.
    pub bias: bool,
    /// Whether neurons have no connection to themselves: the diagonal is 0 in each forward pass and has no gradient.
    pub zero_diagonal: bool,
    /// The initialization of the weight.
    pub weight_init: Init,
    /// The initialization of the bias.
    pub bias_init: Init,
}

impl Feedback {
    /// Feedback without bias that starts orthogonal.
    pub fn new(features: usize) -> Self {
        Self {
            features,
            bias: false,
            zero_diagonal: false,
            weight_init: Init::Orthogonal,
            bias_init: Init::Constant(0.0),
        }
    }

    setters!(bias, weight_init, bias_init);

    /// Sets whether neurons have no connection to themselves.
    #[must_use]
    pub fn zero_diagonal(mut self, yes: bool) -> Self {
        self.zero_diagonal = yes;
        self
    }
}

/// 1 everywhere but on the diagonal, `[size, size]`.
pub(crate) fn off_diagonal(cx: &Context, size: usize) -> Var {
    let fill = |count: usize, value| cx.tracer().fill(cx.tracer().float(), [count], value);
    // Rows of size + 1 elements, joined and cut into rows of size: each moves the zero to the right by one.
    let (zero, ones) = (fill(1, 0.0), fill(size, 1.0));
    let row = Var::concat(&[&zero, &ones], 0).reshape([1, size + 1]);
    let rows = row.expand([size, size + 1]).reshape([size * (size + 1)]);
    rows.slice(0, 0..size * size).reshape([size, size])
}

impl Feedback {
    /// As [`Module::forward`], for the spikes of one step and a weight that changes in each.
    pub(crate) fn forward_changing(&self, cx: &Context, x: &Var) -> Result<Var> {
        if !self.zero_diagonal {
            return self.linear().forward_sparse(cx, x);
        }
        self.check(cx, x)?;
        let mask = cx.once(|| off_diagonal(cx, self.features));
        Ok(self.product(cx, x, &(self.parameter(cx) * mask)))
    }

    fn linear(&self) -> Linear {
        Linear::new(self.features, self.features)
            .bias(self.bias)
            .weight_init(self.weight_init)
            .bias_init(self.bias_init)
    }

    fn check(&self, cx: &Context, x: &Var) -> Result<()> {
        let size = self.features;
        Linear::check(cx, x, size, size)?;
        let features = Constant::new("features", size as f64, Domain::at_least(1.0));
        cx.expect_domains("feedback", &[features])
    }

    fn parameter(&self, cx: &Context) -> Var {
        cx.parameter("weight", [self.features; 2], self.weight_init)
    }

    fn product(&self, cx: &Context, x: &Var, weight: &Var) -> Var {
        let size = self.features;
        cx.tell_synapses(
            "weight",
            x,
            Synapses::Linear {
                inputs: size,
                outputs: size,
            },
        );
        let y = x.linear(weight);
        match self.bias {
            true => y + cx.parameter("bias", [size], self.bias_init),
            false => y,
        }
    }
}

impl Module for Feedback {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        if !self.zero_diagonal {
            return self.linear().forward(cx, x);
        }
        self.check(cx, x)?;
        let weight = cx.once(|| self.parameter(cx) * off_diagonal(cx, self.features));
        Ok(self.product(cx, x, &weight))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Linear {
            inputs: self.features,
            outputs: self.features,
            bias: self.bias,
            zero_diagonal: self.zero_diagonal,
        }
    }
}
