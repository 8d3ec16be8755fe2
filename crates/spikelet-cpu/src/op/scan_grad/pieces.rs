//! The pieces of work of a backward pass: tiles of neurons, and bands of pooled ones.

use super::super::bands::PoolTiles;
use super::super::{Float, MOST};
use super::{OutputGrads, ScanGradKernel};
use crate::memory::Shared;

impl<R: Float> ScanGradKernel<R> {
    pub(super) fn run_tile(
        &self,
        reads: &[&[R]],
        writes: &[Option<Shared<'_, R>>; MOST],
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let history = &mut scratch[..o.states * o.time_steps * length];
        let operands = self.grads[..self.outputs].iter().flatten();
        let grads = OutputGrads {
            sources: operands.map(|k| reads[*k]).collect(),
            first: 0,
            step: o.elements,
        };
        self.recompute(reads, history, None, (start, length));
        self.sweep(reads, &grads, writes, history, (start, length));
    }

    /// A band, tile by tile: first the spikes of all, so that the gradients of its blocks find
    /// their neurons.
    pub(super) fn run_band(
        &self,
        reads: &[&[R]],
        writes: &[Option<Shared<'_, R>>; MOST],
        bands: PoolTiles,
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let present = self.grads[..self.outputs].iter().flatten();
        let (history, spikes) = scratch.split_at_mut(o.states * o.time_steps * length);
        let spikes = &mut spikes[..present.clone().count() * o.time_steps * length];
        let tiles = || {
            let starts = (start..start + length).step_by(self.tile);
            starts.map(|at| (at, self.tile.min(start + length - at)))
        };
        let of_tile = |(at, size): (usize, usize)| {
            let from = (at - start) * o.states * o.time_steps;
            from..from + size * o.states * o.time_steps
        };
        for tile in tiles() {
            let spikes = Some((&mut *spikes, (start, length)));
            self.recompute(reads, &mut history[of_tile(tile)], spikes, tile);
        }
        let (first, whole) = (bands.pooled(start), bands.pooled(o.elements));
        let of_outputs = spikes.chunks_exact_mut(o.time_steps * length);
        for (spikes, operand) in of_outputs.zip(present) {
            for (t, spikes) in spikes.chunks_exact_mut(length).enumerate() {
                let from = t * whole + first;
                bands.route(spikes, &reads[*operand][from..from + bands.pooled(length)]);
            }
        }
        let grads = OutputGrads {
            sources: spikes.chunks_exact(o.time_steps * length).collect(),
            first: start,
            step: length,
        };
        for tile in tiles() {
            self.sweep(reads, &grads, writes, &history[of_tile(tile)], tile);
        }
    }
}
