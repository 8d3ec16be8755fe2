//! The multi-step forward pass of a neuron (FPTT).
//!
//! A tile of elements runs through all time steps before the next one starts: the states stay in
//! the first-level cache, the sequences are read and written once.

use super::{BLOCK, Float, Kernel, Types};
use crate::broadcast::Broadcast;
use crate::memory::{Shared, View, ViewMut};
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use rayon::prelude::*;
use spikelet_expr::{Block, CompileError, Program, Workspace};
use spikelet_graph::op::Scan;

/// More sequences, states and outputs than any neuron has.
pub(super) const MOST: usize = 32;

/// The operands of a scan by kind, and how each is read at a tile.
pub(super) struct Operands {
    pub(super) sequences: usize,
    pub(super) states: usize,
    pub(super) params: usize,
    /// Whether each sequence is the same at all steps.
    pub(super) constant: Vec<bool>,
    pub(super) broadcasts: Vec<Broadcast>,
    pub(super) time_steps: usize,
    /// Elements of one time step.
    pub(super) elements: usize,
}

impl Operands {
    pub(super) fn new(
        (sequences, states, params): (usize, usize, usize),
        time_steps: usize,
        types: &Types,
    ) -> Result<Self, CompileError> {
        let needed = types.inputs.len().max(types.outputs.len());
        if needed > MOST {
            return Err(CompileError::TooLarge { needed });
        }
        let step = &types.inputs[0].shape[1..];
        let held = &types.inputs[sequences..sequences + states + params];
        Ok(Self {
            sequences,
            states,
            params,
            constant: types.inputs[..sequences]
                .iter()
                .map(|t| t.shape[0] == 1)
                .collect(),
            broadcasts: held
                .iter()
                .map(|t| Broadcast::new(&t.shape, step))
                .collect(),
            time_steps,
            elements: step.iter().product(),
        })
    }

    /// Elements of a tile at most. Parameters that differ between elements are held for a block,
    /// so a tile is one.
    pub(super) fn most(&self) -> usize {
        let params = &self.broadcasts[self.states..];
        if params.iter().all(|b| matches!(b, Broadcast::Scalar)) {
            TILE
        } else {
            BLOCK
        }
    }

    /// Where sequence `k` has the element `start` of step `t`.
    pub(super) fn at(&self, k: usize, t: usize, start: usize) -> usize {
        if self.constant[k] {
            start
        } else {
            t * self.elements + start
        }
    }

    /// Gathers the initial states of a tile.
    pub(super) fn initial<'a, R: Float>(
        &self,
        reads: &[&[R]],
        start: usize,
        to: impl Iterator<Item = &'a mut [R]>,
    ) {
        for (k, to) in to.enumerate() {
            self.broadcasts[k].gather(reads[self.sequences + k], start, to);
        }
    }

    /// Gathers the parameters of a tile and sets them.
    pub(super) fn hold<R: Float>(
        &self,
        reads: &[&[R]],
        start: usize,
        length: usize,
        blocks: &mut [Block<R>],
        works: &mut [(&Program, &mut Workspace<R>)],
    ) {
        if self.params == 0 {
            return;
        }
        for (k, block) in blocks.iter_mut().enumerate() {
            let operand = self.states + k;
            let values = reads[self.sequences + operand];
            self.broadcasts[operand].gather(values, start, &mut block[..length.min(BLOCK)]);
        }
        let mut held: [&[R]; MOST] = [&[]; MOST];
        for (held, block) in held.iter_mut().zip(blocks.iter()) {
            *held = &block[..length.min(BLOCK)];
        }
        for (program, work) in works {
            program.hold(work, &held[..self.params]);
        }
    }
}

/// Elements of a tile at most. A step reads that many in a row before it jumps to the next row:
/// long enough for the hardware to fetch ahead.
pub(super) const TILE: usize = 16384;

/// Small enough that every thread gets several tiles.
pub(super) fn tile(elements: usize, threads: usize, most: usize) -> usize {
    (elements / (4 * threads.max(1)) / 64 * 64).clamp(64, most)
}

/// The blocks of a tile: offset and length.
pub(super) fn blocks(length: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..length)
        .step_by(BLOCK)
        .map(move |at| (at, BLOCK.min(length - at)))
}

pub(super) struct ScanKernel<R> {
    program: Program,
    operands: Operands,
    outputs: usize,
    /// After how many steps the states are kept.
    checkpoint: Option<usize>,
    tile: usize,
    scratch: PerThread<Scratch<R>>,
}

struct Scratch<R> {
    work: Workspace<R>,
    now: Vec<Block<R>>,
    next: Vec<Block<R>>,
    params: Vec<Block<R>>,
}

impl<R: Float> ScanKernel<R> {
    pub(super) fn new(op: &Scan, types: &Types, threads: usize) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let kinds = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new(kinds, op.time_steps, types)?;
        let outputs = r.outputs.len();
        let program = r.forward_program(&types.used[..outputs])?;
        let tile = tile(operands.elements, threads, operands.most());
        let filled = |n: usize, length: usize| vec![Block::filled(R::ZERO, length); n];
        Ok(Self {
            scratch: PerThread::new(threads, || Scratch {
                work: program.workspace(BLOCK),
                now: filled(operands.states, tile),
                next: filled(operands.states, tile),
                params: filled(operands.params, BLOCK),
            }),
            tile,
            outputs,
            checkpoint: op.checkpoint,
            program,
            operands,
        })
    }

    fn run_tile(
        &self,
        reads: &[&[R]],
        writes: &[Option<Shared<'_, R>>; MOST],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let mut scratch = self.scratch.get();
        let Scratch {
            work,
            now,
            next,
            params,
        } = &mut *scratch;
        o.hold(
            reads,
            start,
            length,
            params,
            &mut [(&self.program, &mut *work)],
        );
        o.initial(reads, start, now.iter_mut().map(|b| &mut b[..length]));
        for t in 0..o.time_steps {
            for (at, size) in blocks(length) {
                let from = start + at;
                let mut inputs: ArrayVec<&[R], MOST> = ArrayVec::new();
                for k in 0..o.sequences {
                    inputs.push(&reads[k][o.at(k, t, from)..][..size]);
                }
                inputs.extend(now.iter().map(|state| &state[at..at + size]));
                let mut outs: ArrayVec<&mut [R], MOST> = ArrayVec::new();
                for write in writes[..self.outputs].iter().flatten() {
                    // SAFETY: tiles are disjoint at every step, and so are their blocks.
                    outs.push(unsafe { write.range(t * o.elements + from, size) });
                }
                outs.extend(next.iter_mut().map(|state| &mut state[at..at + size]));
                self.program.step(work, &inputs, &mut outs);
            }
            for (k, state) in next.iter().enumerate() {
                if let Some(write) = &writes[self.outputs + o.states + k] {
                    // SAFETY: tiles are disjoint at every step.
                    let to = unsafe { write.range(t * o.elements + start, length) };
                    to.copy_from_slice(&state[..length]);
                }
            }
            if let Some(every) = self.checkpoint
                && (t + 1) % every == 0
                && t + 1 < o.time_steps
            {
                let row = (t + 1) / every - 1;
                for (k, state) in next.iter().enumerate() {
                    if let Some(write) = &writes[self.outputs + 2 * o.states + k] {
                        // SAFETY: tiles are disjoint in every row.
                        let to = unsafe { write.range(row * o.elements + start, length) };
                        to.copy_from_slice(&state[..length]);
                    }
                }
            }
            std::mem::swap(now, next);
        }
        for (k, state) in now.iter().enumerate() {
            if let Some(write) = &writes[self.outputs + k] {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(&state[..length]);
            }
        }
    }
}

/// The operands as slices, and the results as slices that tiles share.
pub(super) fn open<'a, 'b, R: Float>(
    reads: &[View<'a>],
    writes: &'b mut [ViewMut<'_>],
) -> ([&'a [R]; MOST], [Option<Shared<'b, R>>; MOST]) {
    let mut values: [&[R]; MOST] = [&[]; MOST];
    for (value, read) in values.iter_mut().zip(reads) {
        *value = R::of(read);
    }
    let mut shared = [const { None }; MOST];
    for (shared, write) in shared.iter_mut().zip(writes) {
        if !matches!(write, ViewMut::Unused) {
            *shared = Some(Shared::new(R::of_mut(write)));
        }
    }
    (values, shared)
}

impl<R: Float> Kernel for ScanKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let (values, shared) = open::<R>(reads, writes);
        let this = &*self;
        let elements = this.operands.elements;
        (0..elements.div_ceil(this.tile))
            .into_par_iter()
            .for_each(|k| {
                let start = k * this.tile;
                this.run_tile(&values, &shared, (start, this.tile.min(elements - start)));
            });
        Ok(())
    }
}
