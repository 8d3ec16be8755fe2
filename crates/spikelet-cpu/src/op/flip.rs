//! The elements of an axis in reverse order.

use super::copy::MoveKernel;
use super::{CHUNK, CpuKernel, Float, PrepareContext, Prepared};
use crate::memory::{Element, View};
use crate::parallel;
use spikelet_graph::op::Flip;

/// The operand as `[outer, length, inner]`.
struct FlipKernel {
    length: usize,
    inner: usize,
}

impl CpuKernel for Flip {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let shape = &cx.types.inputs[0].shape;
        Ok(Box::new(FlipKernel {
            length: shape[self.axis],
            inner: shape[self.axis + 1..].iter().product(),
        }))
    }
}

impl MoveKernel for FlipKernel {
    fn run_typed<R: Element>(&self, reads: &[View<'_>], to: &mut [R]) {
        let Self { length, inner } = *self;
        if to.is_empty() {
            return;
        }
        let from = R::of(&reads[0]);
        let rows = CHUNK.div_ceil(inner);
        parallel::for_each_chunk(to, rows * inner, |chunk, to| {
            for (row, to) in to.chunks_mut(inner).enumerate() {
                let row = chunk * rows + row;
                let at = row - row % length + (length - 1 - row % length);
                to.copy_from_slice(&from[at * inner..(at + 1) * inner]);
            }
        });
    }
}
