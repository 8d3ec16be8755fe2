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

use super::{CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult, words_of};
use crate::memory::{View, ViewMut};
use crate::scratch::{PerThread, Pieces};
use channelwise::{Channelwise, Product};
use forward::Forward;
use input::Input;
use spikelet_graph::op::{Conv, ConvPart};
use std::marker::PhantomData;
use weight::Weight;
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
#[derive(Clone, Copy)]
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
    scratch: ConvScratch,
    threads: PerThread<()>,
    element: PhantomData<R>,
}

impl<R: Float, P: ConvProduct> Kernel for ConvKernel<R, P> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let ConvScratch { shared, each } = self.scratch;
        let (shared, rest) = R::from_words(workspace).split_at_mut(shared);
        let own = Pieces::new(rest, each, &self.threads);
        let operands = [R::of(&reads[0]), R::of(&reads[1])];
        let out = R::of_mut(&mut writes[0]);
        self.part.run(operands, out, shared, &own);
        Ok(())
    }
}

/// The kernel of a product.
fn lowered<'a, R: Float>(part: impl ConvProduct + 'static, threads: usize) -> Lowered<'a> {
    let scratch = part.scratch();
    let ConvScratch { shared, each } = scratch;
    let elements = shared.saturating_add(each.saturating_mul(threads.max(1)));
    Lowered::new(words_of::<R>(elements), move || {
        Ok(Box::new(ConvKernel {
            part,
            scratch,
            threads: PerThread::new(threads, || ()),
            element: PhantomData::<R>,
        }))
    })
}

impl CpuKernel for Conv {
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let sizes = self.sizes(&cx.types.inputs);
        let windows = Windows::forward(self, &sizes);
        let flipped = windows.flipped(sizes.outputs);
        let (windows, outputs, product) = match (self.part, flipped) {
            (ConvPart::Forward, _) => (windows, sizes.outputs, Product::Forward { flipped: false }),
            (ConvPart::Input, Some(w)) => (w, sizes.inputs, Product::Forward { flipped: true }),
            (ConvPart::Input, None) => (windows, sizes.outputs, Product::Input),
            (ConvPart::Weight, _) => (windows, sizes.outputs, Product::Weight),
        };
        if let Some(part) = Channelwise::new(windows, outputs, product) {
            return lowered::<R>(part, cx.threads);
        }
        match product {
            Product::Forward { flipped } => {
                lowered::<R>(Forward::new(windows, outputs, flipped), cx.threads)
            }
            Product::Input => lowered::<R>(Input::new(windows, outputs), cx.threads),
            Product::Weight => lowered::<R>(Weight::new(windows, outputs), cx.threads),
        }
    }
}
