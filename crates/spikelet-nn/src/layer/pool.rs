//! Pooling: maxima and means of windows, as in PyTorch.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::LayerProblem;
use crate::module::{Context, Description, Module, Tree};
use crate::network::LayerKey;
use crate::network::keys::{DILATION, PADDING};
use crate::network::kind::{Builder, Built, Kind, LayerFields, MainValue, by_axes, key};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};

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
    build: |layer, b| by_axes!(b.spatial_axes(layer)?, build(layer, b, Pool::max)),
};

/// `{ avg-pool = 3, stride = 2, padding = 1 }`
pub(crate) const AVG_POOL: Kind = Kind {
    names: &["avg-pool", "avgpool", "average-pool"],
    types: &["AvgPool1d", "AvgPool2d", "AvgPool3d"],
    summary: "the mean of each window",
    main: WINDOW,
    keys: &[STRIDE, PADDING, CEIL, COUNT_PADDING],
    example: (&[4, 6, 6], "{ avg-pool = 2 }"),
    build: |layer, b| by_axes!(b.spatial_axes(layer)?, build(layer, b, Pool::average)),
};

fn build<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
    of: fn([usize; D]) -> Pool<D>,
) -> Built {
    let kernel = layer.main_sizes()?;
    let mut pool = of(kernel);
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
    let has = |key| layer.kind.keys.contains(&key);
    let dilation = match has(DILATION) {
        true => layer.sizes("dilation", 1)?.unwrap_or([1; D]),
        false => [1; D],
    };
    b.expect_window(&kernel, &dilation, &padding)?;
    pool = pool.dilation(dilation).ceil(layer.flag("ceil")?);
    if has(COUNT_PADDING) {
        pool = pool.count_padding(layer.fields.flag("count_padding")?.unwrap_or(true));
    }
    b.without_weights(layer, pool)
}
