//! Transposed convolutions: the backward pass of a convolution as a layer, as in PyTorch's
//! `ConvTranspose1d/2d/3d`. The output has the size (n − 1)·stride − 2·padding + dilation·(kernel − 1) +
//! output_padding + 1.

use super::conv::{Conv, ConvKeys};
use super::images::{Sizes, channels_last, expect};
use crate::LayerProblem;
use crate::module::{Context, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::ConvPart;
use spikelet_schema::Schema;

/// Transposed convolution over `D` axes: `[T, N, in, …] → [T, N, out, …]`.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[in, out / groups, kernel…]` | uniform, bound 1/√(out / groups · kernel) (PyTorch's default), or the [`weight_init`](Conv::weight_init) of `conv` |
/// | `bias` | `[out]` | the same; not with `bias(false)` |
///
/// ```
/// use spikelet_nn::layer::ConvTransposed2d;
/// use spikelet_nn::prelude::*;
/// let up = ConvTransposed2d::new(Conv2d::new(16, 3, 2).stride(2));
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&up, x)?.shape(), [4, 8, 3, 14, 14]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvTransposed<const D: usize> {
    /// Channels, window, stride, padding, dilation, groups, bias and initialization.
    pub conv: Conv<D>,
    /// The output padding: rows added at the end of each axis.
    pub output_padding: [usize; D],
}

/// Transposed convolution of `[T, N, C, L]`.
#[doc(alias = "ConvTranspose1d")]
pub type ConvTransposed1d = ConvTransposed<1>;
/// Transposed convolution of `[T, N, C, H, W]`.
#[doc(alias = "ConvTranspose2d")]
pub type ConvTransposed2d = ConvTransposed<2>;
/// Transposed convolution of `[T, N, C, D, H, W]`.
#[doc(alias = "ConvTranspose3d")]
pub type ConvTransposed3d = ConvTransposed<3>;

impl<const D: usize> ConvTransposed<D> {
    /// The transposed convolution with these settings; `conv.inputs` is the number of input channels.
    pub fn new(conv: Conv<D>) -> Self {
        Self {
            conv,
            output_padding: [0; D],
        }
    }

    /// Sets the output padding: rows added at the end of each axis, fewer than the stride.
    #[must_use]
    pub fn output_padding(mut self, padding: impl Sizes<D>) -> Self {
        self.output_padding = padding.sizes();
        self
    }
}

impl<const D: usize> Module for ConvTransposed<D> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let conv = &self.conv;
        expect(cx, "transposed convolution", x, D, Some(conv.inputs))?;
        let size = (0..D).map(|k| {
            let grown = x.dim(3 + k).saturating_sub(1) * conv.stride[k]
                + conv.dilation[k] * conv.kernel[k].saturating_sub(1)
                + self.output_padding[k]
                + 1;
            grown.checked_sub(2 * conv.padding[k])
        });
        let size: Option<Vec<usize>> = size.collect();
        let Some(size) = size else {
            return Err(cx.error(
                "transposed convolution",
                LayerProblem::Padding {
                    padding: conv.padding.to_vec(),
                    given: x.ty().clone(),
                },
            ));
        };
        conv.count(cx, x, Some(self.output_padding.to_vec()));
        let (weight, init) = conv.weight(cx, conv.inputs, conv.outputs / conv.groups.max(1));
        let op = conv.op().part(ConvPart::Input, size);
        let y = channels_last(x).conv(&weight, op);
        Ok(conv.add_bias(cx, y, init))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Transposed convolution over one, two or three axes.
///
/// `{ conv-transposed = 64, kernel = 2, stride = 2 }`
#[derive(Debug, Schema)]
#[schema(name = "conv-transposed")]
pub(crate) struct ConvTransposedKeys {
    #[schema(flatten)]
    conv: ConvKeys,
    /// The elements that are added at the end of each axis of the output.
    #[schema(default = AxisSizes::All(0), from = 0, to = Layers::MAX_SIZE)]
    output_padding: AxisSizes,
}

impl LayerKeys for ConvTransposedKeys {
    const OTHER_NAMES: &[&str] = &["conv-transpose"];
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ conv-transposed = 3, kernel = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.spatial_axes(layer)?, build(self, layer, b))
    }
}

fn build<const D: usize>(
    keys: &ConvTransposedKeys,
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Built {
    let conv: Conv<D> = keys.conv.module(layer, b)?;
    let window = conv.window(conv.outputs);
    let weights = window.and_then(|window| window.checked_mul(conv.inputs));
    let transposed = ConvTransposed::new(conv).output_padding(keys.output_padding.axes()?);
    let inputs: usize = b.shape.iter().product();
    b.leaf(layer.name(), transposed, weights, |_| {
        window?.checked_mul(inputs)
    })
}
