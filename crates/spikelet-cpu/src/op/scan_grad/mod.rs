//! The multi-step backward pass of a neuron (BPTT).
//!
//! For a tile of elements the states are recomputed, forward in time, into memory that stays in the
//! L2 cache; then the derived step runs backward. Only the scan's operands are needed; checkpoints
//! of the states, which other devices use, are not read.

mod pieces;

use super::pool_tiles::PoolTiles;
use super::scan::{blocks, open, tile};
use super::scan_ports::{Gradients, Operands};
use super::{BLOCK, Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::{PerThread, Pieces};
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError, Program, Workspace};
use spikelet_graph::op::ScanGrad;

/// Elements of a thread's recomputed states: 512 KiB of f32, a part of the L2 cache.
const HISTORY: usize = 128 * 1024;

pub(super) struct ScanGradKernel<R> {
    forward: Program,
    backward: Program,
    operands: Operands,
    grads: Gradients,
    tile: usize,
    /// The pooling of the outputs.
    pool_tiles: Option<PoolTiles>,
    scratch: PerThread<ScanGradScratch<R>>,
    threads: PerThread<()>,
}

struct ScanGradScratch<R> {
    forward: Workspace<R>,
    backward: Workspace<R>,
    params: Vec<Block<R>>,
    /// dL/d(state), after and before the present step.
    after: Vec<Block<R>>,
    before: Vec<Block<R>>,
    /// One step's gradients of constant sequences and of parameters, and their sums over time.
    step: Vec<Block<R>>,
    sums: Vec<Block<R>>,
}

/// The gradients of the present outputs.
struct OutputGrads<'a, R> {
    sources: ArrayVec<&'a [R], MAX_OPERANDS>,
    /// The index of their first element, and the elements of a step.
    first: usize,
    step: usize,
}

/// The memory of one block of the derived step.
struct StepBuffers<'a, R> {
    grads: &'a OutputGrads<'a, R>,
    work: &'a mut Workspace<R>,
    after: &'a [Block<R>],
    before: &'a mut [Block<R>],
    step: &'a mut [Block<R>],
}

fn tile_of(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    let elements = types.inputs[0].shape[1..].iter().product();
    let states = op.of.recurrence.states.len();
    let states = op.of.time_steps.saturating_mul(states);
    let history = HISTORY / states.max(1) / 64 * 64;
    let most = Operands::new(op, types).most();
    tile(elements, threads, history.clamp(64, most))
}

fn pool_tiles_of(op: &ScanGrad, types: &Types) -> Option<PoolTiles> {
    let present = op.present_outputs().contains(&true);
    let pool = op.of.pool.filter(|_| present)?;
    Some(PoolTiles::new(pool, &types.inputs[0].shape[1..]))
}

/// The states of a tile, or those of a band with its spikes.
fn history_elements(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    let states = op.of.recurrence.states.len();
    let present = op.present_outputs();
    let present = present.iter().filter(|p| **p).count();
    let step = match pool_tiles_of(op, types) {
        Some(pool_tiles) => (states + present).saturating_mul(pool_tiles.length),
        None => states.saturating_mul(tile_of(op, types, threads)),
    };
    op.of.time_steps.saturating_mul(step)
}

pub(super) fn workspace_words(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    let bytes = types.inputs[0].dtype.size_in_bytes();
    let words = history_elements(op, types, threads).saturating_mul(bytes);
    words.div_ceil(8).saturating_mul(threads)
}

impl<R: Float> ScanGradKernel<R> {
    pub(super) fn new(op: &ScanGrad, types: &Types, threads: usize) -> Result<Self, CompileError> {
        let r = &op.of.recurrence;
        let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new(op, types);
        let tile = tile_of(op, types, threads);
        let grads = Gradients::new(op, types);
        let pool_tiles = pool_tiles_of(op, types);
        let present = op.present_outputs();
        let spiking = match pool_tiles {
            Some(_) => present.clone(),
            None => vec![false; present.len()],
        };
        let forward = r.forward_program(&spiking)?;
        let backward = r.backward_program(&present, &grads.wanted_inputs, &grads.wanted_params)?;
        let filled = |n: usize, length: usize| vec![Block::filled(R::ZERO, length); n];
        Ok(Self {
            scratch: PerThread::new(threads, || ScanGradScratch {
                forward: forward.workspace(BLOCK),
                backward: backward.workspace(BLOCK),
                params: filled(params, BLOCK),
                after: filled(states, tile),
                before: filled(states, tile),
                step: filled(sequences + params, tile),
                sums: filled(sequences + params, tile),
            }),
            tile,
            pool_tiles,
            forward,
            backward,
            operands,
            grads,
            threads: PerThread::new(threads, || ()),
        })
    }

    /// The states before every step, `[state][t][element]`; in a band also the spikes of every
    /// step, `[output][t][element of the band]`.
    fn recompute(
        &self,
        reads: &[&[R]],
        history: &mut [R],
        mut spikes: Option<(&mut [R], (usize, usize))>,
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let mut scratch = self.scratch.get();
        let ScanGradScratch {
            forward,
            params,
            before: last,
            ..
        } = &mut *scratch;
        o.hold(
            reads,
            start,
            length,
            params,
            &mut [(&self.forward, &mut *forward)],
        );
        let whole = o.time_steps * length;
        o.initial(
            reads,
            start,
            history.chunks_mut(whole).map(|h| &mut h[..length]),
        );
        // Of the last step only the spikes are needed.
        let steps = o.time_steps - usize::from(spikes.is_none());
        for t in 0..steps {
            for (at, size) in blocks(length) {
                let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                inputs.extend(o.inputs(reads, t, (start + at, size)));
                if let Some((spikes, (first, band))) = &mut spikes {
                    let from = t * *band + start + at - *first;
                    let pieces = spikes.chunks_exact_mut(o.time_steps * *band);
                    outs.extend(pieces.map(|piece| &mut piece[from..from + size]));
                }
                for (state, last) in history.chunks_mut(whole).zip(last.iter_mut()) {
                    let (past, future) = state.split_at_mut((t + 1) * length);
                    inputs.push(&past[t * length + at..][..size]);
                    outs.push(if t + 1 < o.time_steps {
                        &mut future[at..at + size]
                    } else {
                        &mut last[at..at + size]
                    });
                }
                self.forward.step(forward, &inputs, &mut outs);
            }
        }
    }

    /// The derived step, backward through a tile whose states are known.
    fn sweep(
        &self,
        reads: &[&[R]],
        grads: &OutputGrads<'_, R>,
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        history: &[R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let mut scratch = self.scratch.get();
        let ScanGradScratch {
            backward,
            params,
            after,
            before,
            step,
            sums,
            ..
        } = &mut *scratch;
        o.hold(
            reads,
            start,
            length,
            params,
            &mut [(&self.backward, &mut *backward)],
        );
        for block in after.iter_mut().chain(sums.iter_mut()) {
            block[..length].fill(R::ZERO);
        }
        for (sum, operand) in sums[o.sequences.len()..]
            .iter_mut()
            .zip(&self.grads.accumulators)
        {
            if let Some(operand) = operand {
                sum[..length].copy_from_slice(&reads[*operand][start..start + length]);
            }
        }
        for t in (0..o.time_steps).rev() {
            self.grads.add_to(after, (o, reads), t, (start, length));
            for block in blocks(length) {
                self.step_back(
                    reads,
                    writes,
                    history,
                    t,
                    (start, length),
                    block,
                    StepBuffers {
                        grads,
                        work: &mut *backward,
                        after: &*after,
                        before: &mut *before,
                        step: &mut *step,
                    },
                );
            }
            self.add_sums(step, sums, length);
            std::mem::swap(after, before);
        }
        self.store(writes, after, sums, (start, length));
    }

    /// The derived step for one block of a tile.
    #[allow(
        clippy::too_many_arguments,
        reason = "the indices of a block and its memory"
    )]
    fn step_back(
        &self,
        reads: &[&[R]],
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        history: &[R],
        t: usize,
        (start, length): (usize, usize),
        (at, size): (usize, usize),
        buffers: StepBuffers<'_, R>,
    ) {
        let o = &self.operands;
        let from = start + at;
        let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
        inputs.extend(o.inputs(reads, t, (from, size)));
        for state in history.chunks(o.time_steps * length) {
            inputs.push(&state[t * length + at..][..size]);
        }
        for source in &buffers.grads.sources {
            let at = t * buffers.grads.step + from - buffers.grads.first;
            inputs.push(&source[at..at + size]);
        }
        for grad in buffers.after {
            inputs.push(&grad[at..at + size]);
        }

        let (step_inputs, step_params) = buffers.step.split_at_mut(o.sequences.len());
        let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
        for (k, block) in step_inputs
            .iter_mut()
            .enumerate()
            .filter(|(k, _)| self.grads.wanted_inputs[*k])
        {
            outs.push(match &writes[self.grads.of_inputs[k]] {
                // SAFETY: tiles are disjoint at every step, and so are their blocks.
                Some(write) if !o.sequences[k].constant => unsafe {
                    write.range(t * o.elements + from, size)
                },
                _ => &mut block[at..at + size],
            });
        }
        let wanted = step_params
            .iter_mut()
            .zip(&self.grads.wanted_params)
            .filter(|(_, w)| **w);
        for block in buffers
            .before
            .iter_mut()
            .chain(wanted.map(|(block, _)| block))
        {
            outs.push(&mut block[at..at + size]);
        }
        self.backward.step(buffers.work, &inputs, &mut outs);
    }

    fn add_sums(&self, step: &[Block<R>], sums: &mut [Block<R>], length: usize) {
        let sequences = self
            .operands
            .sequences
            .iter()
            .zip(&self.grads.wanted_inputs);
        let constant = sequences.map(|(sequence, wanted)| sequence.constant && *wanted);
        let summed = constant.chain(self.grads.wanted_params.iter().copied());
        for ((sum, step), wanted) in sums.iter_mut().zip(step).zip(summed) {
            if wanted {
                for (sum, step) in sum[..length].iter_mut().zip(&step[..length]) {
                    *sum = *sum + *step;
                }
            }
        }
    }

    fn store(
        &self,
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        initial: &[Block<R>],
        sums: &[Block<R>],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let (inputs, params) = sums.split_at(o.sequences.len());
        let constant = self.grads.of_inputs.iter().zip(inputs).zip(&o.sequences);
        let constant = constant.filter(|(_, sequence)| sequence.constant);
        let states = self.grads.of_states.iter().zip(initial);
        let params = self.grads.of_params.iter().zip(params);
        for (k, block) in constant.map(|(of, _)| of).chain(states).chain(params) {
            if let Some(write) = &writes[*k] {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(&block[..length]);
            }
        }
    }
}

impl<R: Float> Kernel for ScanGradKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let (values, shared) = open::<R>(reads, writes);
        let this = &*self;
        let elements = this.operands.elements;
        let history = Pieces::equal(workspace, &this.threads);
        let piece = this
            .pool_tiles
            .map_or(this.tile, |pool_tiles| pool_tiles.length.max(1));
        parallel::for_each(elements.div_ceil(piece), |k| {
            let at = (k * piece, piece.min(elements - k * piece));
            history.with(|words| {
                let scratch = R::from_words(words);
                match this.pool_tiles {
                    Some(pool_tiles) => this.run_band(&values, &shared, pool_tiles, scratch, at),
                    None => this.run_tile(&values, &shared, scratch, at),
                }
            });
        });
        Ok(())
    }
}
