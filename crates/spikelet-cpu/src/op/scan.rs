//! The multi-step forward pass of a neuron (FPTT).
//!
//! A tile of elements is processed for all time steps before the next tile: the states stay in the cache, the
//! sequences are read and written once. 16-bit sequences are converted a tile at a time.

use super::feedback::{Drive, DriveScratch};
use super::pool_tiles::PoolTiles;
use super::scan_ports::{Memory, Operands, Results, tile};
use super::step_program::{StepProgram, StepScratch, Tiles};
use super::tile_operand::TileOperand;
use super::tile_result::TileResult;
use super::{
    CpuKernel, Float, Kernel, Lowered, MAX_OPERANDS, PrepareContext, RunResult, Types, words_of,
};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::{PerThread, Pieces};
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::TensorType;
use spikelet_graph::op::{Port, Ports, Scan};

pub(super) struct ScanKernel<R> {
    operands: Operands,
    results: Results,
    step: StepProgram,
    feedback: Option<Drive>,
    /// Steps between checkpoints of the states.
    checkpoint: Option<usize>,
    /// The pooling of the outputs.
    pool_tiles: Option<PoolTiles>,
    /// The length of the last axis.
    features: usize,
    /// Elements of a tile.
    tile: usize,
    scratch: PerThread<Scratch<R>>,
    threads: PerThread<()>,
}

struct Scratch<R> {
    step: StepScratch<R>,
    now: Vec<Block<R>>,
    next: Vec<Block<R>>,
    /// The elements of sequences and outputs that are converted.
    inputs: Vec<Block<R>>,
    outputs: Vec<Block<R>>,
    feedback: Option<DriveScratch<R>>,
}

/// The outputs of a tile.
struct Outputs<'a, R> {
    tiles: ArrayVec<&'a TileResult<'a, R>, MAX_OPERANDS>,
    /// The index of the first element in memory, and the elements of a step.
    first: usize,
    step: usize,
}

impl CpuKernel for Scan {
    /// A band has its unpooled outputs and a pooled step in the workspace.
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let feedback = Drive::of(self, &cx.types);
        let used = cx
            .types
            .used(self, Port::Output, self.recurrence.outputs.len());
        let count = used.iter().filter(|used| **used).count();
        let pool = self.pool.filter(|_| count > 0);
        let pool_tiles = pool.map(|pool| PoolTiles::new(pool, &cx.types.inputs[0].shape[1..]));
        let words = match (&feedback, &pool_tiles) {
            (Some(drive), _) => drive.words::<R>(),
            (None, Some(pool_tiles)) => {
                let whole = self.time_steps.saturating_mul(pool_tiles.length);
                let pooled = pool_tiles.pooled(pool_tiles.length);
                let band = count.saturating_mul(whole).saturating_add(pooled);
                words_of::<R>(band).saturating_mul(cx.threads.max(1))
            }
            (None, None) => 0,
        };
        Lowered::new(words, move || {
            cx.boxed(ScanKernel::<R>::new(self, cx, feedback, pool_tiles))
        })
    }

    fn converts(&self) -> bool {
        true
    }

    fn gathered(&self, types: &Types) -> usize {
        types.inputs.len()
    }

    fn writes_bits(&self) -> bool {
        self.feedback.is_some()
    }
}

impl<R: Float> ScanKernel<R> {
    fn new(
        op: &Scan,
        cx: &PrepareContext<'_>,
        feedback: Option<Drive>,
        pool_tiles: Option<PoolTiles>,
    ) -> Result<Self, CompileError> {
        let (r, types, threads) = (&op.recurrence, &cx.types, cx.threads);
        let (operands, results) = (Operands::new(op, types), Results::new(op));
        let features = types.inputs[0].shape.last().copied().unwrap_or(0);
        let (tile, tiles) = match &feedback {
            Some(_) => (
                operands.row_tile(features, threads),
                Tiles::Rows { features },
            ),
            None => (
                tile(operands.elements, threads, operands.most()),
                Tiles::Any,
            ),
        };
        let used = types.used(op, Port::Output, r.outputs.len());
        let by_channel = op.params_by_channel(&types.inputs);
        let step = StepProgram::new(r.forward_program(&used)?, &operands, tiles, by_channel);
        let block = |_| Block::filled(R::ZERO, tile);
        let converted = |ty: &TensorType| TileOperand::block(ty, tile);
        let sequences = || operands.sequences.iter().map(|s| &types.inputs[s.operand]);
        let outputs = || results.outputs.iter().map(|k| &types.outputs[*k]);
        let scratch = || Scratch {
            step: step.scratch(r.params.len()),
            now: r.states.iter().map(block).collect(),
            next: r.states.iter().map(block).collect(),
            inputs: sequences().map(converted).collect(),
            outputs: outputs().map(converted).collect(),
            feedback: feedback.as_ref().map(|_| DriveScratch::new(tile, features)),
        };
        Ok(Self {
            scratch: PerThread::new(threads, scratch),
            checkpoint: op.checkpoint,
            pool_tiles,
            threads: PerThread::new(threads, || ()),
            operands,
            results,
            step,
            feedback,
            features,
            tile,
        })
    }

    fn run_tile(
        &self,
        memory: &Memory<'_, R>,
        outputs: &Outputs<'_, R>,
        (start, length): (usize, usize),
    ) {
        let (o, features, reads) = (&self.operands, self.features, &memory.reads[..]);
        let mut scratch = self.scratch.get();
        let Scratch {
            step,
            now,
            next,
            inputs: converted,
            outputs: tiles,
            feedback,
        } = &mut *scratch;
        let put = |k: usize, at: usize, values: &[R]| {
            // SAFETY: tiles are disjoint at every step.
            unsafe { memory.results[k].put((at, length), values, features) };
        };
        self.step.begin((o, reads), (start, length), step);
        o.initial(reads, start, now.iter_mut().map(|b| &mut b[..length]));
        for t in 0..o.time_steps {
            let at = t * o.elements + start;
            let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
            for (sequence, converted) in o.sequences.iter().zip(&mut *converted) {
                let source = &memory.sources[sequence.operand];
                inputs.push(match sequence.constant {
                    true if t > 0 => source.converted((start, length), converted),
                    true => source.tile((start, length), features, converted),
                    false => source.tile((at, length), features, converted),
                });
            }
            if let (Some(drive), Some(scratch)) = (&self.feedback, feedback.as_mut()) {
                let place = (t, at, start);
                inputs[0] = drive.run(memory, &*now, place, inputs[0], scratch);
            }
            let to = t * outputs.step + start - outputs.first;
            for block in self.step.blocks(length) {
                let inside = block.at..block.at + block.size;
                let states = now.iter().map(|state| &state[inside.clone()]);
                let given = inputs.iter().map(|x| &x[inside.clone()]).chain(states);
                let given: ArrayVec<&[R], MAX_OPERANDS> = given.collect();
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                for (result, tile) in outputs.tiles.iter().zip(&mut *tiles) {
                    // SAFETY: tiles are disjoint at every step, and so are their blocks.
                    outs.extend(unsafe { result.elements(to + block.at, (tile, inside.clone())) });
                }
                outs.extend(next.iter_mut().map(|state| &mut state[inside.clone()]));
                self.step
                    .run((o, reads), step, (start, &block), &given, &mut outs);
            }
            for (result, tile) in outputs.tiles.iter().zip(&*tiles) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((to, length), tile, features) };
            }
            for (k, state) in self.results.state_seq.iter().zip(&*next) {
                put(*k, at, state);
            }
            if let Some(every) = self.checkpoint
                && (t + 1) % every == 0
                && t + 1 < o.time_steps
            {
                let row = (t + 1) / every - 1;
                for (k, state) in self.results.checkpoints.iter().zip(&*next) {
                    put(*k, row * o.elements + start, state);
                }
            }
            std::mem::swap(now, next);
        }
        for (k, state) in self.results.last.iter().zip(&*now) {
            put(*k, start, state);
        }
    }

    /// Processes a band tile by tile, then pools it.
    fn run_band(
        &self,
        memory: &Memory<'_, R>,
        pool_tiles: PoolTiles,
        scratch: &mut [R],
        (start, length): (usize, usize),
    ) {
        let time = self.operands.time_steps;
        let outputs = self.results.outputs.iter().map(|k| &memory.results[*k]);
        let pooled = outputs.filter(|result| !matches!(result, TileResult::Unused));
        let whole = time * pool_tiles.length;
        let (spikes, maxima) = scratch.split_at_mut(pooled.clone().count() * whole);
        let pieces = spikes.chunks_exact_mut(whole.max(1));
        let unpooled = pieces.map(|spikes| SharedSlice::new(&mut spikes[..time * length]));
        let unpooled: ArrayVec<TileResult<'_, R>, MAX_OPERANDS> =
            unpooled.map(TileResult::Same).collect();
        let outputs = Outputs {
            tiles: unpooled.iter().collect(),
            first: start,
            step: length,
        };
        for at in (start..start + length).step_by(self.tile) {
            let size = self.tile.min(start + length - at);
            self.run_tile(memory, &outputs, (at, size));
        }
        let step = pool_tiles.pooled(self.operands.elements);
        let (first, count) = (pool_tiles.pooled(start), pool_tiles.pooled(length));
        for (unpooled, result) in unpooled.iter().zip(pooled) {
            for t in 0..time {
                let at = t * step + first;
                // SAFETY: the tiles are done, and bands are disjoint at every step.
                let (from, to) = unsafe {
                    let from = unpooled.range(t * length, length);
                    (from, result.range(at, count))
                };
                let from = from.expect("unpooled spikes are not converted");
                match to {
                    Some(to) => pool_tiles.maxima(from, to),
                    None => {
                        pool_tiles.maxima(from, &mut maxima[..count]);
                        // SAFETY: bands are disjoint at every step.
                        unsafe { result.store((at, count), maxima, self.features) };
                    }
                }
            }
        }
    }
}

impl<R: Float> Kernel for ScanKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let this = &*self;
        let elements = this.operands.elements;
        if elements == 0 {
            return Ok(());
        }
        let mut memory = Memory::open(reads, writes);
        if let Some(pool_tiles) = this.pool_tiles {
            let scratch = Pieces::equal(workspace, &this.threads);
            let band = pool_tiles.length.max(1);
            parallel::for_each(elements.div_ceil(band), |k| {
                let at = (k * band, band.min(elements - k * band));
                scratch.with(|words| {
                    this.run_band(&memory, pool_tiles, R::from_words(words), at);
                });
            });
            return Ok(());
        }
        if let Some(drive) = &this.feedback {
            memory.weight = drive.table(reads, workspace);
        }
        let outputs = Outputs {
            tiles: (this.results.outputs.iter())
                .map(|k| &memory.results[*k])
                .collect(),
            first: 0,
            step: elements,
        };
        parallel::for_each(elements.div_ceil(this.tile), |k| {
            let start = k * this.tile;
            let length = this.tile.min(elements - start);
            this.run_tile(&memory, &outputs, (start, length));
        });
        Ok(())
    }
}
