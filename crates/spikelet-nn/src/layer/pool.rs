//! Pooling: maxima and means of windows, as in PyTorch.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::LayerProblem;
use crate::module::{Context, Description, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};
use spikelet_schema::Schema;

/// Pools `[T, N, C, …]` over `D` axes.
///
/// The first of equal maxima in row-major order has the gradient. After a spiking neuron, the maxima of blocks
/// are computed before the spikes are written to memory.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 14, 14]);
/// assert_eq!(cx.trace(&Pool2d::max(2), x.clone())?.shape(), [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&Pool2d::average(3).stride(2).padding(1), x)?.shape(), [4, 8, 16, 7, 7]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool<const D: usize> {
    pooling: Pooling,
    windows: [Window; D],
    /// A setting that this kind of pooling does not have.
    unused: Option<&'static str>,
}

/// Pooling of `[T, N, C, L]`.
#[doc(alias = "MaxPool1d")]
#[doc(alias = "AvgPool1d")]
pub type Pool1d = Pool<1>;
/// Pooling of `[T, N, C, H, W]`.
#[doc(alias = "MaxPool2d")]
#[doc(alias = "AvgPool2d")]
pub type Pool2d = Pool<2>;
/// Pooling of `[T, N, C, D, H, W]`.
#[doc(alias = "MaxPool3d")]
#[doc(alias = "AvgPool3d")]
pub type Pool3d = Pool<3>;

impl<const D: usize> Pool<D> {
    /// The largest element of each window; windows do not overlap.
    pub fn max(kernel: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Max,
            windows: kernel.sizes().map(Window::blocks),
            unused: None,
        }
    }

    /// The mean of each window; windows do not overlap, and padding counts as zeros.
    pub fn average(kernel: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Average {
                count_padding: true,
            },
            ..Self::max(kernel)
        }
    }

    /// Pooling with `outputs` windows of nearly equal size.
    pub(super) fn adaptive(pooling: Pooling, outputs: [usize; D]) -> Self {
        Self {
            pooling,
            windows: outputs.map(|outputs| Window::Adaptive { outputs }),
            unused: None,
        }
    }

    /// Sets an attribute of the windows.
    fn each(mut self, values: [usize; D], set: impl Fn(&mut Window, usize)) -> Self {
        for (window, value) in self.windows.iter_mut().zip(values) {
            set(window, value);
        }
        self
    }

    /// Sets the stride: the distance between two windows.
    #[must_use]
    pub fn stride(self, stride: impl Sizes<D>) -> Self {
        self.each(stride.sizes(), |window, value| {
            if let Window::Sliding { stride, .. } = window {
                *stride = value;
            }
        })
    }

    /// Sets the padding on both sides, at most half a window.
    #[must_use]
    pub fn padding(self, padding: impl Sizes<D>) -> Self {
        self.each(padding.sizes(), |window, value| {
            if let Window::Sliding { padding, .. } = window {
                *padding = value;
            }
        })
    }

    /// Sets the dilation: the distance between two elements of a window; only for maxima.
    #[must_use]
    pub fn dilation(self, dilation: impl Sizes<D>) -> Self {
        self.each(dilation.sizes(), |window, value| {
            if let Window::Sliding { dilation, .. } = window {
                *dilation = value;
            }
        })
    }

    /// Sets whether the last window may extend beyond the end.
    #[must_use]
    pub fn ceil(self, yes: bool) -> Self {
        self.each([usize::from(yes); D], |window, value| {
            if let Window::Sliding { ceil, .. } = window {
                *ceil = value == 1;
            }
        })
    }

    /// Sets whether the padding is included in means, as zeros.
    #[must_use]
    pub fn count_padding(mut self, yes: bool) -> Self {
        match &mut self.pooling {
            Pooling::Average { count_padding } => *count_padding = yes,
            Pooling::Max => self.unused = Some("count_padding"),
        }
        self
    }
}

impl<const D: usize> Module for Pool<D> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        expect(cx, "pooling", &x, D, None)?;
        if let Some(what) = self.unused {
            return Err(cx.error("pooling", LayerProblem::UnusedSetting { setting: what }));
        }
        let y = channels_last(&x).pool(self.pooling, self.windows);
        cx.tracer().check()?;
        Ok(channels_second(&y))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Pool(self.pooling, &self.windows)
    }
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
    let dilation = keys.dilation.axes()?;
    let pool = keys.windows.pool::<D>(Pool::max, dilation, layer, b)?;
    b.without_weights(layer, pool.dilation(dilation).ceil(keys.ceil))
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
    let pool = keys.windows.pool::<D>(Pool::average, [1; D], layer, b)?;
    let pool = pool.ceil(keys.ceil).count_padding(keys.count_padding);
    b.without_weights(layer, pool)
}

impl WindowKeys {
    /// The pooling of windows of these sizes, which fit into the padded input with a dilation.
    fn pool<const D: usize>(
        &self,
        of: fn([usize; D]) -> Pool<D>,
        dilation: [usize; D],
        layer: &LayerFields<'_>,
        b: &Builder,
    ) -> Result<Pool<D>, Located> {
        let (kernel, padding) = (self.window.axes()?, self.padding.axes()?);
        if (padding.iter().zip(kernel)).any(|(&padding, kernel)| padding > kernel / 2) {
            return Err(layer.wrong("padding", "at most half the window"));
        }
        b.expect_window(&kernel, &dilation, &padding)?;
        let stride = self.stride.as_ref().map_or(Ok(kernel), AxisSizes::axes)?;
        Ok(of(kernel).stride(stride).padding(padding))
    }
}
