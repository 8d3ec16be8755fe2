//! Fully connected layer.
//!
//! y = x·Wᵀ + b over the last axis; time and batch are folded together.

use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Init, Module, Tree};
use crate::synapses::Synapses;
use spikelet_core::Result;
use spikelet_graph::Var;

/// Fully connected layer: `[…, in] → […, out]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[out, in]` | uniform, bound 1/√in (PyTorch's default) |
/// | `bias` | `[out]` | the same; only with `bias(true)` |
///
/// For spikes, the product is a sum of the weight rows of the features that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Whether a bias is added.
    pub bias: bool,
}

impl Linear {
    /// A layer without bias, as is common in networks of spiking neurons.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs,
            outputs,
            bias: false,
        }
    }

    /// Sets whether a bias is added.
    #[must_use]
    pub fn bias(mut self, yes: bool) -> Self {
        self.bias = yes;
        self
    }
}

impl Module for Linear {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("linear", &x, 2)?;
        let given = x.dim(x.rank() - 1);
        if given != self.inputs {
            return Err(cx.error(
                "linear",
                LayerProblem::Features {
                    expected: self.inputs,
                    outputs: self.outputs,
                    given: x.ty().clone(),
                },
            ));
        }
        let outputs = Constant::new("outputs", self.outputs as f64, Domain::at_least(1.0));
        cx.expect_domains("linear", &[outputs])?;
        cx.count_synapses("weight", &x, || Synapses::Linear {
            inputs: self.inputs,
            outputs: self.outputs,
        });
        let init = Init::fan_in(self.inputs);
        let weight = cx.parameter("weight", [self.outputs, self.inputs], init);
        let y = x.linear(&weight);
        if !self.bias {
            return Ok(y);
        }
        let bias = cx.parameter("bias", [self.outputs], init);
        Ok(y + bias)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
