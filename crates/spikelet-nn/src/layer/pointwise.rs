//! A linear map of the channels at each position.
//!
//! y = W·x + b for the channels of each position: a convolution with a window of one element, as matrix product.

use super::images::{channels_last, channels_second, expect};
use super::init_keys::InitKeys;
use super::{Linear, setters};
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The shape of the weight of a [`Pointwise`], which is that of the layer that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum WeightShape {
    /// `[outputs, inputs]`
    Linear,
    /// `[outputs, inputs, 1]`
    Conv1d,
    /// `[outputs, inputs, 1, 1]`
    #[default]
    Conv2d,
}

impl WeightShape {
    fn axes(self) -> usize {
        match self {
            Self::Linear => 0,
            Self::Conv1d => 1,
            Self::Conv2d => 2,
        }
    }
}

/// `[T, N, inputs, …] → [T, N, outputs, …]`: the same linear map at each position.
///
/// | tensor | shape | start | |
/// |---|---|---|---|
/// | `weight` | `[outputs, inputs]`, and axes of one element as `shape` says | uniform, bound 1/√inputs, or `weight_init` | trainable |
/// | `bias` | `[outputs]` | the same bound, or `bias_init` | if `bias` |
///
/// ```
/// use spikelet_nn::layer::Pointwise;
/// use spikelet_nn::prelude::*;
/// let map = Pointwise::new(48, 96);
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 48, 8, 8]);
/// assert_eq!(cx.trace(&map, x)?.shape(), [4, 2, 96, 8, 8]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointwise {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Whether a bias is added.
    pub bias: bool,
    /// The shape of the weight.
    pub shape: WeightShape,
    /// The initialization of the weight, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
    /// The initialization of the bias, if it is not PyTorch's default.
    pub bias_init: Option<Init>,
}

impl Pointwise {
    /// A map with bias.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs,
            outputs,
            bias: true,
            shape: WeightShape::default(),
            weight_init: None,
            bias_init: None,
        }
    }

    setters!(bias, weight_init, bias_init);

    /// Sets the shape of the weight.
    #[must_use]
    pub fn shape(mut self, shape: WeightShape) -> Self {
        self.shape = shape;
        self
    }
}

impl Module for Pointwise {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect(
            cx,
            "pointwise",
            x,
            x.rank().saturating_sub(3),
            Some(self.inputs),
        )?;
        let map = Linear {
            inputs: self.inputs,
            outputs: self.outputs,
            bias: self.bias,
            weight_init: self.weight_init,
            bias_init: self.bias_init,
        };
        let y = map.map(cx, &channels_last(x), self.shape.axes());
        Ok(channels_second(&y))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// The same linear map of the channels at each position.
///
/// `{ pointwise = 96, bias = false, weights = "conv1d" }`
#[derive(Debug, Schema)]
#[schema(name = "pointwise")]
pub(crate) struct PointwiseKeys {
    /// The number of output channels.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    channels: usize,
    /// Whether there is a bias.
    #[schema(default = true)]
    bias: bool,
    /// The shape of the weights, as of the layer of which they are in other programs: `linear`, `conv1d` or `conv2d`.
    weights: Option<WeightShape>,
    #[schema(flatten)]
    init: InitKeys,
}

impl LayerKeys for PointwiseKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ pointwise = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (outputs, inputs) = (self.channels, b.shape[0]);
        let mut module = Pointwise::new(inputs, outputs).bias(self.bias);
        module.shape = self.weights.unwrap_or(module.shape);
        [module.weight_init, module.bias_init] = self.init.of(outputs);
        b.leaf(
            layer.name(),
            module,
            inputs.checked_mul(outputs),
            |elements| elements.checked_mul(inputs),
        )
    }
}
