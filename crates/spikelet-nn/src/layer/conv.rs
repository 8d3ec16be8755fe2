//! Convolutions over one, two or three axes.
//!
//! y[o] = b + Σ_k W[k]·x[o·stride + k·dilation − padding], as in PyTorch's `Conv1d/2d/3d`; time and
//! batch are folded together.

use super::images::{Sizes, channels_last, channels_second, expect};
use super::init_keys::InitKeys;
use super::setters;
use crate::module::{Context, ConvDescription, Description, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use crate::synapses::{ConvSynapses, Synapses};
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_graph::op::Conv as ConvOp;
use spikelet_schema::Schema;

/// Convolution over `D` axes: `[T, N, in, …] → [T, N, out, …]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[out, in / groups, kernel…]` | uniform, bound 1/√(in / groups · kernel) (PyTorch's default), or [`weight_init`](Self::weight_init) |
/// | `bias` | `[out]` | PyTorch's default; not with `bias(false)` |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Conv2d::new(3, 16, 3).padding(1).stride(2)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 3, 32, 32]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [4, 8, 16, 16, 16]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv<const D: usize> {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// The size of the window.
    pub kernel: [usize; D],
    /// The stride.
    pub stride: [usize; D],
    /// The padding: zeros on both sides of the input.
    pub padding: [usize; D],
    /// The dilation: the distance between neighboring elements of the window.
    pub dilation: [usize; D],
    /// The number of groups of channels with separate weights.
    pub groups: usize,
    /// Whether a bias is added.
    pub bias: bool,
    /// The initialization of the weight, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
    /// The initialization of the bias, if it is not PyTorch's default.
    pub bias_init: Option<Init>,
}

/// Convolution of `[T, N, C, L]`.
pub type Conv1d = Conv<1>;
/// Convolution of `[T, N, C, H, W]`.
pub type Conv2d = Conv<2>;
/// Convolution of `[T, N, C, D, H, W]`.
pub type Conv3d = Conv<3>;

impl<const D: usize> Conv<D> {
    /// A convolution with a window of `kernel` and a stride of 1, with bias, without padding.
    pub fn new(inputs: usize, outputs: usize, kernel: impl Sizes<D>) -> Self {
        Self {
            inputs,
            outputs,
            kernel: kernel.sizes(),
            stride: [1; D],
            padding: [0; D],
            dilation: [1; D],
            groups: 1,
            bias: true,
            weight_init: None,
            bias_init: None,
        }
    }

    /// Sets the stride.
    #[must_use]
    pub fn stride(mut self, stride: impl Sizes<D>) -> Self {
        self.stride = stride.sizes();
        self
    }

    /// Sets the padding: the number of zeros on both sides.
    #[must_use]
    pub fn padding(mut self, padding: impl Sizes<D>) -> Self {
        self.padding = padding.sizes();
        self
    }

    /// Sets the dilation: the distance between neighboring elements of the window.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Sizes<D>) -> Self {
        self.dilation = dilation.sizes();
        self
    }

    /// Sets the number of groups.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    setters!(bias, weight_init, bias_init);

    pub(crate) fn op(&self) -> ConvOp {
        ConvOp {
            stride: self.stride.to_vec(),
            padding: self.padding.to_vec(),
            dilation: self.dilation.to_vec(),
            groups: self.groups,
            ..ConvOp::new(D)
        }
    }

    /// Counts the operations with the input `x`; of a transposed convolution with this output padding.
    pub(super) fn count(&self, cx: &Context, x: &Var, transposed: Option<Vec<usize>>) {
        cx.tell_synapses(
            "weight",
            x,
            Synapses::Conv(ConvSynapses {
                inputs: self.inputs,
                outputs: self.outputs,
                kernel: self.kernel.to_vec(),
                stride: self.stride.to_vec(),
                padding: self.padding.to_vec(),
                dilation: self.dilation.to_vec(),
                groups: self.groups,
                size: x.shape()[3..].to_vec(),
                transposed,
            }),
        );
    }

    /// A weight `[a, b, kernel…]` in the operation's order, `[a, kernel…, b]`.
    pub(super) fn weight(&self, cx: &Context, a: usize, b: usize) -> (Var, Init) {
        let init = Init::fan_in(b * self.kernel.iter().product::<usize>());
        let mut shape = vec![a, b];
        shape.extend(self.kernel);
        let mut order = vec![0];
        order.extend(2..D + 2);
        order.push(1);
        let weight = cx.parameter("weight", shape, self.weight_init.unwrap_or(init));
        (weight.permute(&order), init)
    }

    pub(super) fn add_bias(&self, cx: &Context, y: Var, init: Init) -> Var {
        let y = match self.bias {
            true => {
                let init = self.bias_init.unwrap_or(init);
                y + cx.parameter("bias", [self.outputs], init)
            }
            false => y,
        };
        channels_second(&y)
    }
}

impl<const D: usize> Module for Conv<D> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect(cx, "convolution", x, D, Some(self.inputs))?;
        self.count(cx, x, None);
        let (weight, init) = self.weight(cx, self.outputs, self.inputs / self.groups.max(1));
        let y = channels_last(x).conv(&weight, self.op());
        Ok(self.add_bias(cx, y, init))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Conv(ConvDescription {
            inputs: self.inputs,
            outputs: self.outputs,
            kernel: &self.kernel,
            stride: &self.stride,
            padding: &self.padding,
            dilation: &self.dilation,
            groups: self.groups,
            bias: self.bias,
        })
    }
}

/// Convolution over one, two or three axes.
///
/// `{ conv = 128, kernel = 3, padding = 1, bias = false }`
#[derive(Debug, Schema)]
#[schema(name = "conv")]
pub(crate) struct ConvKeys {
    /// The number of output channels.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    out_channels: usize,
    /// The number of inputs, by which the input is checked.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    inputs: Option<usize>,
    /// The size of the window.
    #[schema(required, from = 1, to = Layers::MAX_SIZE)]
    kernel: AxisSizes,
    /// The distance of windows.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    stride: AxisSizes,
    /// The elements that are added on both sides of each axis.
    #[schema(default = AxisSizes::All(0), from = 0, to = Layers::MAX_SIZE)]
    padding: AxisSizes,
    /// The distance of elements in a window.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    dilation: AxisSizes,
    /// The number of groups of channels.
    #[schema(default = 1, from = 1, to = Layers::MAX_SIZE)]
    groups: usize,
    /// Whether there is a bias.
    #[schema(default = true)]
    bias: bool,
    #[schema(flatten)]
    init: InitKeys,
}

impl LayerKeys for ConvKeys {
    const OTHER_NAMES: &[&str] = &["conv1d", "conv2d", "conv3d"];
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ conv = 3, kernel = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.spatial_axes(layer)?, build(self, layer, b))
    }
}

fn build<const D: usize>(keys: &ConvKeys, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let conv: Conv<D> = keys.fitting(layer, b)?;
    let window = conv.window(conv.inputs);
    let weights = window.and_then(|window| window.checked_mul(conv.outputs));
    b.leaf(layer.name(), conv, weights, |elements| {
        window?.checked_mul(elements)
    })
}

impl ConvKeys {
    /// The convolution of the current input.
    pub(super) fn module<const D: usize>(
        &self,
        layer: &LayerFields<'_>,
        b: &Builder,
    ) -> Result<Conv<D>, Located> {
        let (inputs, outputs, groups) = (b.shape[0], self.out_channels, self.groups);
        layer.expect_inputs(self.inputs, inputs)?;
        for channels in [(inputs, "input channels"), (outputs, "output channels")] {
            layer.expect_divisor("groups", (groups, "groups"), channels)?;
        }
        let mut conv = Conv::new(inputs, outputs, self.kernel.axes()?)
            .stride(self.stride.axes()?)
            .padding(self.padding.axes()?)
            .dilation(self.dilation.axes()?)
            .groups(groups)
            .bias(self.bias);
        let sizes = conv.kernel.iter();
        let fan_out = sizes.fold(outputs, |all, &n| all.saturating_mul(n));
        [conv.weight_init, conv.bias_init] = self.init.of(fan_out);
        Ok(conv)
    }

    /// The same, with a window that is not larger than the padded input.
    pub(crate) fn fitting<const D: usize>(
        &self,
        layer: &LayerFields<'_>,
        b: &Builder,
    ) -> Result<Conv<D>, Located> {
        let conv = self.module(layer, b)?;
        b.expect_window(&conv.kernel, &conv.dilation, &conv.padding)?;
        Ok(conv)
    }
}

impl<const D: usize> Conv<D> {
    /// The weights between one channel of one side and the channels of its group on the other.
    pub(crate) fn window(&self, channels: usize) -> Option<usize> {
        let mut kernel = self.kernel.iter();
        kernel.try_fold(channels / self.groups, |all, &n| all.checked_mul(n))
    }
}
