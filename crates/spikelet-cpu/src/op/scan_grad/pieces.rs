//! The tasks of a backward pass: tiles of neurons, and bands of pooled neurons.

use super::super::pool_tiles::PoolTiles;
use super::super::{Float, MAX_OPERANDS};
use super::{OutputGrads, ScanGradKernel};
use crate::memory::SharedSlice;

impl<R: Float> ScanGradKernel<R> {
    pub(super) fn run_tile(
        &self,
        reads: &[&[R]],
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let history = &mut scratch[..o.initial.len() * o.time_steps * length];
        let operands = self.grads.outputs.iter();
        let grads = OutputGrads {
            sources: operands.map(|k| reads[*k]).collect(),
            first: 0,
            step: o.elements,
        };
        self.recompute(reads, history, None, (start, length));
        self.sweep(reads, &grads, writes, history, (start, length));
    }

    /// Processes a band tile by tile: first the spikes of all, from which the gradients of its blocks
    /// are routed to neurons.
    pub(super) fn run_band(
        &self,
        reads: &[&[R]],
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        pool_tiles: PoolTiles,
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let present = &self.grads.outputs;
        let states = o.initial.len();
        let (history, spikes) = scratch.split_at_mut(states * o.time_steps * length);
        let spikes = &mut spikes[..present.len() * o.time_steps * length];
        let tiles = || {
            let starts = (start..start + length).step_by(self.tile);
            starts.map(|at| (at, self.tile.min(start + length - at)))
        };
        let of_tile = |(at, size): (usize, usize)| {
            let from = (at - start) * states * o.time_steps;
            from..from + size * states * o.time_steps
        };
        for tile in tiles() {
            let spikes = Some((&mut *spikes, (start, length)));
            self.recompute(reads, &mut history[of_tile(tile)], spikes, tile);
        }
        let (first, whole) = (pool_tiles.pooled(start), pool_tiles.pooled(o.elements));
        let of_outputs = spikes.chunks_exact_mut(o.time_steps * length);
        for (spikes, operand) in of_outputs.zip(present) {
            for (t, spikes) in spikes.chunks_exact_mut(length).enumerate() {
                let from = t * whole + first;
                pool_tiles.route(
                    spikes,
                    &reads[*operand][from..from + pool_tiles.pooled(length)],
                );
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
