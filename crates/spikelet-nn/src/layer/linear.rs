//! Fully connected layer.
//!
//! y = x·Wᵀ + b over the last axis; time and batch are folded together.

use super::init_keys::InitKeys;
use super::setters;
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::synapses::Synapses;
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_graph::op::MatMul;
use spikelet_schema::Schema;

/// Fully connected layer: `[…, in] → […, out]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[out, in]` | uniform, bound 1/√in (PyTorch's default), or [`weight_init`](Self::weight_init) |
/// | `bias` | `[out]` | the same, or [`bias_init`](Self::bias_init); not with `bias(false)` |
///
/// For spikes, the product is a sum of the weight rows of the features that fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Whether a bias is added.
    pub bias: bool,
    /// The initialization of the weight, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
    /// The initialization of the bias, if it is not PyTorch's default.
    pub bias_init: Option<Init>,
}

impl Linear {
    /// A layer with bias.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs,
            outputs,
            bias: true,
            weight_init: None,
            bias_init: None,
        }
    }

    setters!(bias, weight_init, bias_init);

    /// W·x + b over the last axis. The weight has so many axes of one element behind `[out, in]`.
    pub(super) fn map(&self, cx: &Context, x: &Var, unit_axes: usize) -> Var {
        self.map_by(MatMul::new(false, true), cx, x, unit_axes)
    }

    /// As [`Linear::map`], by a product with these settings.
    fn map_by(&self, product: MatMul, cx: &Context, x: &Var, unit_axes: usize) -> Var {
        cx.tell_synapses(
            "weight",
            x,
            Synapses::Linear {
                inputs: self.inputs,
                outputs: self.outputs,
            },
        );
        let init = Init::fan_in(self.inputs);
        let matrix = [self.outputs, self.inputs];
        let shape = [&matrix[..], &vec![1; unit_axes]].concat();
        let weight = cx.parameter("weight", shape, self.weight_init.unwrap_or(init));
        let y = x.tracer().apply1(product, &[x, &weight.reshape(matrix)]);
        match self.bias {
            true => y + cx.parameter("bias", [self.outputs], self.bias_init.unwrap_or(init)),
            false => y,
        }
    }

    /// Checks that a sequence has `inputs` features.
    pub(crate) fn check(cx: &Context, x: &Var, inputs: usize, outputs: usize) -> Result<()> {
        cx.expect_rank("linear", x, 2)?;
        if x.dim(x.rank() - 1) == inputs {
            return Ok(());
        }
        let given = x.ty().clone();
        Err(cx.error(
            "linear",
            LayerProblem::Features {
                expected: inputs,
                outputs,
                given,
            },
        ))
    }
}

impl Linear {
    /// The layer by a product with these settings.
    fn forward_by(&self, product: MatMul, cx: &Context, x: &Var) -> Result<Var> {
        Self::check(cx, x, self.inputs, self.outputs)?;
        let outputs = Constant::new("outputs", self.outputs as f64, Domain::at_least(1.0));
        cx.expect_domains("linear", &[outputs])?;
        Ok(self.map_by(product, cx, x, 0))
    }

    /// As [`Module::forward`], for an input that is mostly zeros: a device may skip them, in another order of the sums.
    pub(crate) fn forward_sparse(&self, cx: &Context, x: &Var) -> Result<Var> {
        let product = MatMul {
            sparse: true,
            ..MatMul::new(false, true)
        };
        self.forward_by(product, cx, x)
    }
}

impl Module for Linear {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        self.forward_by(MatMul::new(false, true), cx, x)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Linear {
            inputs: self.inputs,
            outputs: self.outputs,
            bias: self.bias,
            zero_diagonal: false,
        }
    }
}

/// Fully connected layer.
///
/// `{ linear = 10 }`, `{ linear = 10, bias = false }`
#[derive(Debug, Schema)]
#[schema(name = "linear")]
pub(crate) struct LinearKeys {
    /// The number of output features.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    out_features: usize,
    /// The number of inputs, by which the input is checked.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    inputs: Option<usize>,
    /// Whether there is a bias.
    #[schema(default = true)]
    bias: bool,
    #[schema(flatten)]
    init: InitKeys,
}

impl LayerKeys for LinearKeys {
    const OTHER_NAMES: &[&str] = &["fc", "dense"];
    const EXAMPLE: (&[usize], &str) = (&[8], "{ linear = 6, bias = false }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let module = self.module(layer, b)?;
        b.fully_connected(layer, module, module.inputs.checked_mul(module.outputs))
    }
}

impl LinearKeys {
    /// The layer for the current input.
    pub(crate) fn module(&self, layer: &LayerFields<'_>, b: &Builder) -> Result<Linear, Located> {
        let inputs = b.features(layer)?;
        layer.expect_inputs(self.inputs, inputs)?;
        let mut module = Linear::new(inputs, self.out_features).bias(self.bias);
        [module.weight_init, module.bias_init] = self.init.of(self.out_features);
        Ok(module)
    }
}
