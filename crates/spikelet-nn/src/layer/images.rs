//! Shared functions of the layers of images: sequences `[T, N, C, …]` in channels-last order.

use crate::LayerProblem;
use crate::module::Context;
use spikelet_core::Result;
use spikelet_graph::Var;

/// One size for all axes, or a size for each axis.
pub trait Sizes<const D: usize> {
    /// One size an axis.
    fn sizes(self) -> [usize; D];
}

impl<const D: usize> Sizes<D> for usize {
    fn sizes(self) -> [usize; D] {
        [self; D]
    }
}

impl<const D: usize> Sizes<D> for [usize; D] {
    fn sizes(self) -> [usize; D] {
        self
    }
}

/// Checks that `x` is `[T, N, C, …]` with `axes` spatial axes, and `channels` channels if they
/// are known.
pub(super) fn expect(
    cx: &Context,
    what: &str,
    x: &Var,
    axes: usize,
    channels: Option<usize>,
) -> Result<()> {
    if x.rank() != axes + 3 {
        let expected = [
            "[T, N, C]",
            "[T, N, C, L]",
            "[T, N, C, H, W]",
            "[T, N, C, D, H, W]",
        ];
        return Err(cx.error(
            what,
            LayerProblem::Axes {
                expected: expected[axes.min(3)],
                given: x.ty().clone(),
            },
        ));
    }
    cx.expect_rank(what, x, 2)?;
    match channels {
        Some(expected) if x.dim(2) != expected => Err(cx.error(
            what,
            LayerProblem::Channels {
                expected,
                given: x.ty().clone(),
            },
        )),
        _ => Ok(()),
    }
}

/// `[T, N, C, …] → [T, N, …, C]`
pub(crate) fn channels_last(x: &Var) -> Var {
    let mut order = vec![0, 1];
    order.extend(3..x.rank());
    order.push(2);
    x.permute(&order)
}

/// `[T, N, …, C] → [T, N, C, …]`
pub(super) fn channels_second(x: &Var) -> Var {
    let mut order = vec![0, 1, x.rank() - 1];
    order.extend(2..x.rank() - 1);
    x.permute(&order)
}
