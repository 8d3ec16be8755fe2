//! Pooling: maxima and means of windows, as PyTorch's.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::error::Result;
use crate::module::{Context, Module};
use spikelet_graph::Var;
use spikelet_graph::op::{Pooling, Window};

/// Pools `[T, N, C, …]` over `D` axes.
///
/// Of equal maxima the first in row-major order takes the gradient. Behind a spiking neuron,
/// maxima of blocks are taken before the spikes are written.
///
/// ```
/// use spikelet::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 14, 14]);
/// assert_eq!(cx.trace(&Pool2d::max(2), x.clone())?.shape(), [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&Pool2d::average(3).stride(2).padding(1), x.clone())?.shape(), [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&Pool2d::average_to(1), x)?.shape(), [4, 8, 16, 1, 1]);
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool<const D: usize> {
    pooling: Pooling,
    windows: [Window; D],
}

/// Pooling of `[T, N, C, L]`.
pub type Pool1d = Pool<1>;
/// Pooling of `[T, N, C, H, W]`.
pub type Pool2d = Pool<2>;
/// Pooling of `[T, N, C, D, H, W]`.
pub type Pool3d = Pool<3>;

impl<const D: usize> Pool<D> {
    /// The largest element of each window; windows lie next to each other.
    pub fn max(kernel: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Max,
            windows: kernel.sizes().map(Window::blocks),
        }
    }

    /// The mean of each window; windows lie next to each other, and padding counts as zeros.
    pub fn average(kernel: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Average {
                count_padding: true,
            },
            ..Self::max(kernel)
        }
    }

    /// The largest element of each of `outputs` windows of nearly equal size (adaptive pooling).
    pub fn max_to(outputs: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Max,
            windows: outputs.sizes().map(|outputs| Window::Adaptive { outputs }),
        }
    }

    /// The mean of each of `outputs` windows of nearly equal size (adaptive pooling).
    pub fn average_to(outputs: impl Sizes<D>) -> Self {
        Self {
            pooling: Pooling::Average {
                count_padding: true,
            },
            ..Self::max_to(outputs)
        }
    }

    fn each(mut self, values: [usize; D], set: impl Fn(&mut Window, usize)) -> Self {
        for (window, value) in self.windows.iter_mut().zip(values) {
            set(window, value);
        }
        self
    }

    /// Sets the distance of two windows. (Adaptive windows have none.)
    pub fn stride(self, stride: impl Sizes<D>) -> Self {
        self.each(stride.sizes(), |window, value| {
            if let Window::Sliding { stride, .. } = window {
                *stride = value;
            }
        })
    }

    /// Sets the elements outside on both sides, at most half a window.
    pub fn padding(self, padding: impl Sizes<D>) -> Self {
        self.each(padding.sizes(), |window, value| {
            if let Window::Sliding { padding, .. } = window {
                *padding = value;
            }
        })
    }

    /// Sets the distance of two elements of a window; for maxima.
    pub fn dilation(self, dilation: impl Sizes<D>) -> Self {
        self.each(dilation.sizes(), |window, value| {
            if let Window::Sliding { dilation, .. } = window {
                *dilation = value;
            }
        })
    }

    /// Whether a last window may reach over the end.
    pub fn ceil(self, yes: bool) -> Self {
        self.each([usize::from(yes); D], |window, value| {
            if let Window::Sliding { ceil, .. } = window {
                *ceil = value == 1;
            }
        })
    }

    /// Whether padding counts as zeros in a mean.
    pub fn count_padding(mut self, yes: bool) -> Self {
        if let Pooling::Average { count_padding } = &mut self.pooling {
            *count_padding = yes;
        }
        self
    }
}

impl<const D: usize> Module for Pool<D> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        expect(cx, "pooling", &x, D, None)?;
        let y = channels_last(&x).pool(self.pooling, self.windows);
        cx.tracer().check()?;
        Ok(channels_second(&y))
    }
}
