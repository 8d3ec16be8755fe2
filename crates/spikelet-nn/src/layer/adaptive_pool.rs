//! Adaptive pooling: a given number of windows of nearly equal size, as in PyTorch's
//! `AdaptiveAvgPool1d/2d/3d` and `AdaptiveMaxPool1d/2d/3d`.
//!
//! Window k of K has the elements from ⌊k·n/K⌋ to ⌈(k + 1)·n/K⌉ of n.

use super::images::Sizes;
use super::pool::pool;
use crate::module::{Context, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};
use spikelet_schema::Schema;

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
    ($($type:ident: $pooling:expr, $(#[$doc:meta])* $keys:ident = $name:literal;)*) => {$(
        impl<const D: usize> $type<D> {
            /// Pooling to one size for all axes, or to a size for each axis.
            pub fn new(outputs: impl Sizes<D>) -> Self {
                Self {
                    outputs: outputs.sizes(),
                }
            }
        }

        impl<const D: usize> Module for $type<D> {
            fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
                let windows = self.outputs.map(|outputs| Window::Adaptive { outputs });
                pool(cx, x, $pooling, windows)
            }

            fn tree(&self) -> Tree {
                Tree::fields(self)
            }
        }

        $(#[$doc])*
        #[derive(Debug, Schema)]
        #[schema(name = $name)]
        pub(crate) struct $keys {
            /// The size of the output.
            #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
            size: AxisSizes,
        }

        impl LayerKeys for $keys {
            const HAS_AXES: bool = true;
            const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], concat!("{ ", $name, " = 2 }"));

            fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
                fn build<const D: usize>(
                    keys: &$keys,
                    layer: &LayerFields<'_>,
                    b: &mut Builder,
                ) -> Built {
                    b.without_weights(layer, $type::<D>::new(keys.size.axes()?))
                }
                by_axes!(b.spatial_axes(layer)?, build(self, layer, b))
            }
        }
    )*};
}

adaptive! {
    AdaptiveAvgPool: Pooling::Average { count_padding: true },
        /// Average pooling to an output of a given size.
        AdaptiveAvgPoolKeys = "adaptive-avg-pool";
    AdaptiveMaxPool: Pooling::Max,
        /// Max pooling to an output of a given size.
        AdaptiveMaxPoolKeys = "adaptive-max-pool";
}
