//! Pooling: maxima and means of windows, as in PyTorch.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::module::{Context, Description, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};
use spikelet_schema::Schema;

/// Max pooling of `[T, N, C, …]` over `D` axes: the largest element of each window.
///
/// The first of equal maxima in row-major order has the gradient. After a spiking neuron, the maxima of blocks
/// are computed before the spikes are written to memory.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 14, 14]);
/// assert_eq!(cx.trace(&MaxPool2d::new(2), x)?.shape(), [4, 8, 16, 7, 7]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxPool<const D: usize> {
    windows: [Window; D],
}

/// Average pooling of `[T, N, C, …]` over `D` axes: the mean of each window. Padding counts as zeros.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 14, 14]);
/// let pool = AvgPool2d::new(3).stride(2).padding(1);
/// assert_eq!(cx.trace(&pool, x)?.shape(), [4, 8, 16, 7, 7]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvgPool<const D: usize> {
    windows: [Window; D],
    count_padding: bool,
}

/// Max pooling of `[T, N, C, L]`.
pub type MaxPool1d = MaxPool<1>;
/// Max pooling of `[T, N, C, H, W]`.
pub type MaxPool2d = MaxPool<2>;
/// Max pooling of `[T, N, C, D, H, W]`.
pub type MaxPool3d = MaxPool<3>;
/// Average pooling of `[T, N, C, L]`.
pub type AvgPool1d = AvgPool<1>;
/// Average pooling of `[T, N, C, H, W]`.
pub type AvgPool2d = AvgPool<2>;
/// Average pooling of `[T, N, C, D, H, W]`.
pub type AvgPool3d = AvgPool<3>;

/// Sets an attribute of sliding windows.
macro_rules! set {
    ($self:ident.$attribute:ident = $values:expr) => {
        for (window, value) in $self.windows.iter_mut().zip($values) {
            if let Window::Sliding { $attribute, .. } = window {
                *$attribute = value;
            }
        }
    };
}

/// The methods of both, for the fields besides the windows and the operation.
macro_rules! pooling {
    ($type:ident { $($field:ident: $default:literal)? } => $pooling:expr) => {
        impl<const D: usize> $type<D> {
            /// Windows of this size that do not overlap.
            pub fn new(kernel: impl Sizes<D>) -> Self {
                Self {
                    windows: kernel.sizes().map(Window::blocks),
                    $($field: $default,)?
                }
            }

            /// Sets the stride: the distance between two windows.
            #[must_use]
            pub fn stride(mut self, stride: impl Sizes<D>) -> Self {
                set!(self.stride = stride.sizes());
                self
            }

            /// Sets the padding on both sides, at most half a window.
            #[must_use]
            pub fn padding(mut self, padding: impl Sizes<D>) -> Self {
                set!(self.padding = padding.sizes());
                self
            }

            /// Sets whether the last window may extend beyond the end.
            #[must_use]
            pub fn ceil(mut self, yes: bool) -> Self {
                set!(self.ceil = [yes; D]);
                self
            }
        }

        impl<const D: usize> Module for $type<D> {
            fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
                $(let Self { $field, .. } = *self;)?
                pool(cx, x, $pooling, self.windows)
            }

            fn tree(&self) -> Tree {
                Tree::fields(self)
            }

            fn describe(&self) -> Description<'_> {
                $(let Self { $field, .. } = *self;)?
                Description::Pool($pooling, &self.windows)
            }
        }
    };
}

pooling!(MaxPool {} => Pooling::Max);
pooling!(AvgPool { count_padding: true } => Pooling::Average { count_padding });

impl<const D: usize> MaxPool<D> {
    /// Sets the dilation: the distance between two elements of a window.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Sizes<D>) -> Self {
        set!(self.dilation = dilation.sizes());
        self
    }
}

impl<const D: usize> AvgPool<D> {
    /// Sets whether the padding is included in means, as zeros.
    #[must_use]
    pub fn count_padding(mut self, yes: bool) -> Self {
        self.count_padding = yes;
        self
    }
}

/// Pools `[T, N, C, …]` with a window for each axis behind the channels.
pub(super) fn pool<const D: usize>(
    cx: &Context,
    x: &Var,
    pooling: Pooling,
    windows: [Window; D],
) -> Result<Var> {
    expect(cx, "pooling", x, D, None)?;
    let y = channels_last(x).pool(pooling, windows);
    cx.tracer().check()?;
    Ok(channels_second(&y))
}

/// The windows of pooling layers.
#[derive(Debug, Schema)]
pub(crate) struct WindowKeys {
    /// The size of the window.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    window: AxisSizes,
    /// The distance of windows; by default the size of the window.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    stride: Option<AxisSizes>,
    /// The elements that are added on both sides of each axis.
    #[schema(default = AxisSizes::All(0), from = 0, to = Layers::MAX_SIZE)]
    padding: AxisSizes,
}

/// The largest element of each window.
///
/// `{ max-pool = 2 }`
#[derive(Debug, Schema)]
#[schema(name = "max-pool")]
pub(crate) struct MaxPoolKeys {
    #[schema(flatten)]
    windows: WindowKeys,
    /// The distance of elements in a window.
    #[schema(from = 1, to = Layers::MAX_SIZE)]
    dilation: AxisSizes,
    /// Whether windows may reach over the end of an axis.
    ceil: bool,
}

impl LayerKeys for MaxPoolKeys {
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ max-pool = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.spatial_axes(layer)?, max_pool(self, layer, b))
    }
}

fn max_pool<const D: usize>(keys: &MaxPoolKeys, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let windows = keys
        .windows
        .windows((keys.dilation.axes()?, keys.ceil), layer, b)?;
    b.without_weights(layer, MaxPool::<D> { windows })
}

/// The mean of each window.
///
/// `{ avg-pool = 3, stride = 2, padding = 1 }`
#[derive(Debug, Schema)]
#[schema(name = "avg-pool")]
pub(crate) struct AvgPoolKeys {
    #[schema(flatten)]
    windows: WindowKeys,
    /// Whether windows may reach over the end of an axis.
    ceil: bool,
    /// Whether padding counts in the mean.
    #[schema(default = true)]
    count_padding: bool,
}

impl LayerKeys for AvgPoolKeys {
    const OTHER_NAMES: &[&str] = &["avgpool", "average-pool"];
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ avg-pool = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.spatial_axes(layer)?, avg_pool(self, layer, b))
    }
}

fn avg_pool<const D: usize>(keys: &AvgPoolKeys, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let pool = AvgPool::<D> {
        windows: keys.windows.windows(([1; D], keys.ceil), layer, b)?,
        count_padding: keys.count_padding,
    };
    b.without_weights(layer, pool)
}

impl WindowKeys {
    /// Windows of these sizes, which fit into the padded input.
    fn windows<const D: usize>(
        &self,
        (dilation, ceil): ([usize; D], bool),
        layer: &LayerFields<'_>,
        b: &Builder,
    ) -> Result<[Window; D], Located> {
        let (kernel, padding) = (self.window.axes()?, self.padding.axes()?);
        if (padding.iter().zip(kernel)).any(|(&padding, kernel)| padding > kernel / 2) {
            return Err(layer.wrong("padding", "at most half the window"));
        }
        b.expect_window(&kernel, &dilation, &padding)?;
        let stride = self.stride.as_ref().map_or(Ok(kernel), AxisSizes::axes)?;
        let pool = MaxPool::new(kernel).stride(stride).padding(padding);
        Ok(pool.dilation(dilation).ceil(ceil).windows)
    }
}
