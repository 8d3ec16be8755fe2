//! Pooling: maxima and means of windows, as in PyTorch.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::module::{Context, Description, Module, Tree};
use crate::network::LayerKey;
use crate::network::keys::{DILATION, PADDING};
use crate::network::kind::{Builder, Built, Kind, LayerFields, MainValue, by_axes, key};
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};

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
            fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
                $(let Self { $field, .. } = *self;)?
                pool(cx, &x, $pooling, self.windows)
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

const WINDOW: MainValue = MainValue::Required(key!(window: "sizes", "the size of the window"));
const STRIDE: LayerKey =
    key!(stride: "sizes" = "null", "the distance of windows; by default the size of the window");
const CEIL: LayerKey =
    key!(ceil: "flag" = "false", "whether windows may reach over the end of an axis");
const COUNT_PADDING: LayerKey =
    key!(count_padding: "flag" = "true", "whether padding counts in the mean");

/// `{ max-pool = 2 }`
pub(crate) const MAX_POOL: Kind = Kind {
    names: &["max-pool"],
    types: &["MaxPool1d", "MaxPool2d", "MaxPool3d"],
    summary: "the largest element of each window",
    main: WINDOW,
    keys: &[STRIDE, PADDING, DILATION, CEIL],
    example: (&[4, 6, 6], "{ max-pool = 2 }"),
    build: |layer, b| by_axes!(b.spatial_axes(layer)?, max(layer, b)),
};

/// `{ avg-pool = 3, stride = 2, padding = 1 }`
pub(crate) const AVG_POOL: Kind = Kind {
    names: &["avg-pool", "avgpool", "average-pool"],
    types: &["AvgPool1d", "AvgPool2d", "AvgPool3d"],
    summary: "the mean of each window",
    main: WINDOW,
    keys: &[STRIDE, PADDING, CEIL, COUNT_PADDING],
    example: (&[4, 6, 6], "{ avg-pool = 2 }"),
    build: |layer, b| by_axes!(b.spatial_axes(layer)?, average(layer, b)),
};

fn max<const D: usize>(layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let windows = windows(layer, b)?;
    b.without_weights(layer, MaxPool::<D> { windows })
}

fn average<const D: usize>(layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    let windows = windows(layer, b)?;
    let count_padding = layer.fields.flag("count_padding")?.unwrap_or(true);
    let pool = AvgPool::<D> {
        windows,
        count_padding,
    };
    b.without_weights(layer, pool)
}

/// The windows of either kind; only that with the key has a dilation.
fn windows<const D: usize>(layer: &LayerFields<'_>, b: &Builder) -> Result<[Window; D], Located> {
    let kernel = layer.main_sizes()?;
    let mut pool = MaxPool::new(kernel);
    if let Some(stride) = layer.sizes("stride", 1)? {
        pool = pool.stride(stride);
    }
    let padding = layer.sizes("padding", 0)?.unwrap_or([0; D]);
    if let Some(node) = layer.fields.get("padding") {
        if (padding.iter().zip(kernel)).any(|(&padding, kernel)| padding > kernel / 2) {
            return Err(node.wrong("padding", "at most half the window"));
        }
        pool = pool.padding(padding);
    }
    let dilation = match layer.kind.keys.contains(&DILATION) {
        true => layer.sizes("dilation", 1)?.unwrap_or([1; D]),
        false => [1; D],
    };
    b.expect_window(&kernel, &dilation, &padding)?;
    Ok(pool.dilation(dilation).ceil(layer.flag("ceil")?).windows)
}
