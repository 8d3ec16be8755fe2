//! Adaptive pooling: a given number of windows of nearly equal size, as in PyTorch's
//! `AdaptiveAvgPool1d/2d/3d` and `AdaptiveMaxPool1d/2d/3d`.
//!
//! Window k of K has the elements from ⌊k·n/K⌋ to ⌈(k + 1)·n/K⌉ of n.

use super::images::Sizes;
use super::pool::pool;
use crate::module::{Context, Module, Tree};
use crate::network::kind::{Builder, Built, Kind, LayerFields, MainValue, by_axes, key};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};

/// Adaptive average pooling of `[T, N, C, …]` over `D` axes: the mean of each window.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 14, 14]);
/// assert_eq!(cx.trace(&AdaptiveAvgPool2d::new(1), x)?.shape(), [4, 8, 16, 1, 1]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveAvgPool<const D: usize> {
    /// The number of windows of each axis.
    pub outputs: [usize; D],
}

/// Adaptive max pooling of `[T, N, C, …]` over `D` axes: the largest element of each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveMaxPool<const D: usize> {
    /// The number of windows of each axis.
    pub outputs: [usize; D],
}

/// Adaptive average pooling of `[T, N, C, L]`.
pub type AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
/// Adaptive average pooling of `[T, N, C, H, W]`.
pub type AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
/// Adaptive average pooling of `[T, N, C, D, H, W]`.
pub type AdaptiveAvgPool3d = AdaptiveAvgPool<3>;
/// Adaptive max pooling of `[T, N, C, L]`.
pub type AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
/// Adaptive max pooling of `[T, N, C, H, W]`.
pub type AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
/// Adaptive max pooling of `[T, N, C, D, H, W]`.
pub type AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

macro_rules! adaptive {
    ($($type:ident: $pooling:expr, $kind:ident = $name:literal, $summary:literal;)*) => {$(
        impl<const D: usize> $type<D> {
            /// Pooling to one size for all axes, or to a size for each axis.
            pub fn new(outputs: impl Sizes<D>) -> Self {
                Self {
                    outputs: outputs.sizes(),
                }
            }
        }

        impl<const D: usize> Module for $type<D> {
            fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
                let windows = self.outputs.map(|outputs| Window::Adaptive { outputs });
                pool(cx, &x, $pooling, windows)
            }

            fn tree(&self) -> Tree {
                Tree::fields(self)
            }
        }

        pub(crate) const $kind: Kind = Kind {
            names: &[$name],
            types: &[
                concat!(stringify!($type), "1d"),
                concat!(stringify!($type), "2d"),
                concat!(stringify!($type), "3d"),
            ],
            summary: $summary,
            main: MainValue::Required(key!(size: "sizes", "the size of the output")),
            keys: &[],
            example: (&[4, 6, 6], concat!("{ ", $name, " = 2 }")),
            build: |layer, b| {
                fn build<const D: usize>(layer: &LayerFields<'_>, b: &mut Builder) -> Built {
                    b.without_weights(layer, $type::<D>::new(layer.main_sizes()?))
                }
                by_axes!(b.spatial_axes(layer)?, build(layer, b))
            },
        };
    )*};
}

adaptive! {
    AdaptiveAvgPool: Pooling::Average { count_padding: true },
        ADAPTIVE_AVG_POOL = "adaptive-avg-pool", "average pooling to an output of a given size";
    AdaptiveMaxPool: Pooling::Max,
        ADAPTIVE_MAX_POOL = "adaptive-max-pool", "max pooling to an output of a given size";
}
