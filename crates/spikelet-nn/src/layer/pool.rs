//! Pooling: maxima and means of windows, as PyTorch's.

use super::images::{Sizes, channels_last, channels_second, expect};
use crate::LayerProblem;
use crate::module::{Context, Module, Tree};
use spikelet_core::Result;
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
    /// What was set last that this pooling does not have.
    misplaced: Option<&'static str>,
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
            misplaced: None,
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
            misplaced: None,
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

    /// Sets something of sliding windows, which adaptive ones do not have.
    fn each(
        mut self,
        what: &'static str,
        values: [usize; D],
        set: impl Fn(&mut Window, usize),
    ) -> Self {
        for (window, value) in self.windows.iter_mut().zip(values) {
            if matches!(window, Window::Adaptive { .. }) {
                self.misplaced = Some(what);
            }
            set(window, value);
        }
        self
    }

    /// Sets the distance of two windows. This and what follows is refused where it is traced if the
    /// pooling is adaptive.
    pub fn stride(self, stride: impl Sizes<D>) -> Self {
        self.each("stride", stride.sizes(), |window, value| {
            if let Window::Sliding { stride, .. } = window {
                *stride = value;
            }
        })
    }

    /// Sets the elements outside on both sides, at most half a window.
    pub fn padding(self, padding: impl Sizes<D>) -> Self {
        self.each("padding", padding.sizes(), |window, value| {
            if let Window::Sliding { padding, .. } = window {
                *padding = value;
            }
        })
    }

    /// Sets the distance of two elements of a window; for maxima.
    pub fn dilation(self, dilation: impl Sizes<D>) -> Self {
        self.each("dilation", dilation.sizes(), |window, value| {
            if let Window::Sliding { dilation, .. } = window {
                *dilation = value;
            }
        })
    }

    /// Whether a last window may reach over the end.
    pub fn ceil(self, yes: bool) -> Self {
        self.each("ceil", [usize::from(yes); D], |window, value| {
            if let Window::Sliding { ceil, .. } = window {
                *ceil = value == 1;
            }
        })
    }

    /// Whether padding counts as zeros in a mean.
    pub fn count_padding(mut self, yes: bool) -> Self {
        match &mut self.pooling {
            Pooling::Average { count_padding } => *count_padding = yes,
            Pooling::Max => self.misplaced = Some("count_padding"),
        }
        self
    }
}

impl<const D: usize> Module for Pool<D> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        expect(cx, "pooling", &x, D, None)?;
        if let Some(what) = self.misplaced {
            return Err(cx.error("pooling", LayerProblem::UnusedSetting { setting: what }));
        }
        let y = channels_last(&x).pool(self.pooling, self.windows);
        cx.tracer().check()?;
        Ok(channels_second(&y))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}
