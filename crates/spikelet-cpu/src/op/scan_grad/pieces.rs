//! The tasks of a backward pass without feedback: tiles of neurons, and bands of pooled neurons.

use super::super::pool_tiles::PoolTiles;
use super::super::scan_ports::Memory;
use super::super::{Float, MAX_OPERANDS};
use super::{Known, ScanGradKernel};
use arrayvec::ArrayVec;
use spikelet_expr::Block;

impl<R> Known<'_, R> {
    /// The states are operands, and so are the gradients.
    pub(super) fn nothing() -> Self {
        Self {
            history: &[],
            outputs: ArrayVec::new(),
            first: 0,
            step: 0,
        }
    }
}

impl<R: Float> ScanGradKernel<R> {
    /// What the derived step `t` reads in a tile, but for the gradients of the states after it: the sequences, the
    /// states before it and the gradients of the outputs.
    pub(super) fn given<'a>(
        &self,
        (tiles, initial): (&[&'a [R]; MAX_OPERANDS], &'a [Block<R>]),
        known: &Known<'a, R>,
        t: usize,
        (start, length): (usize, usize),
    ) -> ArrayVec<&'a [R], MAX_OPERANDS> {
        let o = &self.operands;
        let mut given: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
        given.extend(o.sequences.iter().map(|x| tiles[x.operand]));
        match &self.feedback {
            None => {
                let states = known.history.chunks(o.time_steps * length);
                given.extend(states.map(|state| &state[t * length..][..length]));
            }
            Some(_) if t == 0 => given.extend(initial.iter().map(|state| &state[..length])),
            Some(product) => given.extend(product.states.iter().map(|at| tiles[*at])),
        }
        match self.pool_tiles {
            Some(_) => {
                let from = t * known.step + start - known.first;
                given.extend(known.outputs.iter().map(|g| &g[from..from + length]));
            }
            None => given.extend(self.grads.outputs.iter().map(|at| tiles[*at])),
        }
        given
    }

    pub(super) fn run_tile(
        &self,
        memory: &Memory<'_, R>,
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let history = &mut scratch[..o.initial.len() * o.time_steps * length];
        self.recompute(memory, history, None, (start, length));
        let known = Known {
            history,
            ..Known::nothing()
        };
        self.sweep(memory, &known, (start, length));
    }

    /// Processes a band tile by tile: first the spikes of all, from which the gradients of its blocks
    /// are routed to neurons.
    pub(super) fn run_band(
        &self,
        memory: &Memory<'_, R>,
        pool_tiles: PoolTiles,
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let present = &self.grads.outputs;
        let states = o.initial.len();
        let (history, rest) = scratch.split_at_mut(states * o.time_steps * length);
        let (spikes, pooled) = rest.split_at_mut(present.len() * o.time_steps * length);
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
            self.recompute(memory, &mut history[of_tile(tile)], spikes, tile);
        }
        let (first, whole) = (pool_tiles.pooled(start), pool_tiles.pooled(o.elements));
        let count = pool_tiles.pooled(length);
        let of_outputs = spikes.chunks_exact_mut(o.time_steps * length);
        for (spikes, operand) in of_outputs.zip(present) {
            for (t, spikes) in spikes.chunks_exact_mut(length).enumerate() {
                let at = (t * whole + first, count);
                let grads = memory.sources[*operand].tile(at, self.features, pooled);
                pool_tiles.route(spikes, grads);
            }
        }
        for tile in tiles() {
            let known = Known {
                history: &history[of_tile(tile)],
                outputs: spikes.chunks_exact(o.time_steps * length).collect(),
                first: start,
                step: length,
            };
            self.sweep(memory, &known, tile);
        }
    }
}
