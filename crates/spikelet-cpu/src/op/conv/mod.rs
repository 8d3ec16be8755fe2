//! Convolutions, channels last.
//!
//! Windows are copied into the rows of a matrix, those of a few elements into its columns, a tile at a time, and
//! multiplied by the kernel. Each tile is computed by one thread.

mod channelwise;
mod columns;
mod forward;
mod input;
mod weight;
mod window;

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, Types};
use crate::memory::{View, ViewMut};
use crate::scratch::{PerThread, Pieces};
use channelwise::{Channelwise, Product};
use spikelet_graph::DType;
use spikelet_graph::op::{Conv, ConvPart};
use std::marker::PhantomData;
use window::Windows;

/// The most elements of windows whose products are rounded before they are added.
const FEW: usize = 32;

/// Elements of the windows of one tile, which stay in the L2 cache.
const TILE: usize = 128 * 1024;

/// Windows of a tile are a multiple of this.
const ROUND: usize = 16;

/// Windows of one tile.
fn tile_rows(window: usize) -> usize {
    (TILE / window.max(1) / ROUND * ROUND).clamp(3 * ROUND, 256)
}

/// Elements, rounded up.
fn rounded(elements: usize) -> usize {
    elements
        .checked_next_multiple_of(ROUND)
        .unwrap_or(usize::MAX)
}

/// Scratch memory in elements.
struct ConvScratch {
    /// Shared by all threads.
    shared: usize,
    /// Per thread.
    each: usize,
}

/// One of the products of a convolution.
trait ConvProduct: Send + Sync {
    fn scratch(&self) -> ConvScratch;

    fn run<R: Float>(
        &self,
        operands: [&[R]; 2],
        out: &mut [R],
        shared: &mut [R],
        own: &Pieces<'_, R>,
    );
}

struct ConvKernel<R, P> {
    part: P,
    threads: PerThread<()>,
    element: PhantomData<R>,
}

impl<R: Float, P: ConvProduct> Kernel for ConvKernel<R, P> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let ConvScratch { shared, each } = self.part.scratch();
        let (shared, rest) = R::from_words(workspace).split_at_mut(shared);
        let own = Pieces::new(rest, each, &self.threads);
        let operands = [R::of(&reads[0]), R::of(&reads[1])];
        let out = R::of_mut(&mut writes[0]);
        self.part.run(operands, out, shared, &own);
        Ok(())
    }
}

/// Evaluates an expression with the product of an operation.
macro_rules! with_part {
    ($op:expr, $types:expr, $part:ident => $body:expr) => {{
        let sizes = $op.sizes(&$types.inputs);
        let windows = Windows::forward($op, &sizes);
        let flipped = windows.flipped(sizes.outputs);
        let (windows, outputs, product) = match ($op.part, flipped) {
            (ConvPart::Forward, _) => (windows, sizes.outputs, Product::Forward { flipped: false }),
            (ConvPart::Input, Some(w)) => (w, sizes.inputs, Product::Forward { flipped: true }),
            (ConvPart::Input, None) => (windows, sizes.outputs, Product::Input),
            (ConvPart::Weight, _) => (windows, sizes.outputs, Product::Weight),
        };
        match (Channelwise::new(windows, outputs, product), product) {
            (Some($part), _) => $body,
            (None, Product::Forward { flipped }) => {
                let $part = forward::Forward::new(windows, outputs, flipped);
                $body
            }
            (None, Product::Input) => {
                let $part = input::Input::new(windows, outputs);
                $body
            }
            (None, Product::Weight) => {
                let $part = weight::Weight::new(windows, outputs);
                $body
            }
        }
    }};
}

impl CpuKernel for Conv {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(with_part!(self, cx.types, part => Box::new(ConvKernel {
            part,
            threads: PerThread::new(cx.threads, || ()),
            element: PhantomData::<R>,
        })))
    }

    fn workspace_words(&self, types: &Types, threads: usize) -> usize {
        let ConvScratch { shared, each } = with_part!(self, types, part => part.scratch());
        let elements = shared.saturating_add(each.saturating_mul(threads.max(1)));
        match types.float() {
            DType::F64 => elements,
            _ => elements.div_ceil(2),
        }
    }
}
