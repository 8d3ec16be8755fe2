//! The multi-step forward pass of a neuron (FPTT).
//!
//! A tile of elements is processed for all time steps before the next tile: the states stay in the
//! L1 cache, the sequences are read and written once.

use super::pool_tiles::PoolTiles;
use super::scan_ports::{Operands, Results};
use super::{BLOCK, Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::{PerThread, Pieces};
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError, Program, Workspace};
use spikelet_graph::op::{Port, Scan};

/// The most elements of a tile. A step reads that many contiguous elements: enough for the hardware
/// prefetcher.
pub(super) const TILE: usize = 16384;

/// Elements of a tile, few enough that every thread gets several tiles.
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
    results: Results,
    /// Steps between checkpoints of the states.
    checkpoint: Option<usize>,
    tile: usize,
    /// The pooling of the outputs.
    pool_tiles: Option<PoolTiles>,
    scratch: PerThread<ScanScratch<R>>,
    threads: PerThread<()>,
}

/// The memory of the outputs of a tile.
struct Outputs<'a, R> {
    writes: ArrayVec<&'a SharedSlice<'a, R>, MAX_OPERANDS>,
    /// The index of the first element in memory, and the elements of a step.
    first: usize,
    step: usize,
}

fn pool_tiles_of(op: &Scan, types: &Types) -> Option<PoolTiles> {
    let used = types.used(op, Port::Output, op.recurrence.outputs.len());
    let pool = op.pool.filter(|_| used.contains(&true))?;
    Some(PoolTiles::new(pool, &types.inputs[0].shape[1..]))
}

/// Elements of a band's unpooled outputs.
fn band_elements(op: &Scan, types: &Types) -> usize {
    let used = types.used(op, Port::Output, op.recurrence.outputs.len());
    let used = used.iter().filter(|used| **used).count();
    pool_tiles_of(op, types).map_or(0, |pool_tiles| {
        used.saturating_mul(op.time_steps)
            .saturating_mul(pool_tiles.length)
    })
}

pub(super) fn workspace_words(op: &Scan, types: &Types, threads: usize) -> usize {
    let bytes = types.inputs[0].dtype.size_in_bytes();
    let words = band_elements(op, types).saturating_mul(bytes).div_ceil(8);
    words.saturating_mul(threads.max(1))
}

struct ScanScratch<R> {
    work: Workspace<R>,
    now: Vec<Block<R>>,
    next: Vec<Block<R>>,
    params: Vec<Block<R>>,
}

impl<R: Float> ScanKernel<R> {
    pub(super) fn new(op: &Scan, types: &Types, threads: usize) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let operands = Operands::new(op, types);
        let used = types.used(op, Port::Output, r.outputs.len());
        let program = r.forward_program(&used)?;
        let tile = tile(operands.elements, threads, operands.most());
        let filled = |n: usize, length: usize| vec![Block::filled(R::ZERO, length); n];
        Ok(Self {
            scratch: PerThread::new(threads, || ScanScratch {
                work: program.workspace(BLOCK),
                now: filled(r.states.len(), tile),
                next: filled(r.states.len(), tile),
                params: filled(r.params.len(), BLOCK),
            }),
            tile,
            results: Results::new(op),
            checkpoint: op.checkpoint,
            program,
            operands,
            pool_tiles: pool_tiles_of(op, types),
            threads: PerThread::new(threads, || ()),
        })
    }

    fn run_tile(
        &self,
        reads: &[&[R]],
        outputs: &Outputs<'_, R>,
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let mut scratch = self.scratch.get();
        let ScanScratch {
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
                let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
                inputs.extend(o.inputs(reads, t, (from, size)));
                inputs.extend(now.iter().map(|state| &state[at..at + size]));
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                for write in &outputs.writes {
                    let at = t * outputs.step + from - outputs.first;
                    // SAFETY: tiles are disjoint at every step, and so are their blocks.
                    outs.push(unsafe { write.range(at, size) });
                }
                outs.extend(next.iter_mut().map(|state| &mut state[at..at + size]));
                self.program.step(work, &inputs, &mut outs);
            }
            for (k, state) in self.results.state_seq.iter().zip(&*next) {
                if let Some(write) = &writes[*k] {
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
                for (k, state) in self.results.checkpoints.iter().zip(&*next) {
                    if let Some(write) = &writes[*k] {
                        // SAFETY: tiles are disjoint in every row.
                        let to = unsafe { write.range(row * o.elements + start, length) };
                        to.copy_from_slice(&state[..length]);
                    }
                }
            }
            std::mem::swap(now, next);
        }
        for (k, state) in self.results.last.iter().zip(&*now) {
            if let Some(write) = &writes[*k] {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(&state[..length]);
            }
        }
    }
}

impl<R: Float> ScanKernel<R> {
    /// Processes a band tile by tile, then pools it.
    fn run_band(
        &self,
        reads: &[&[R]],
        writes: &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        pool_tiles: PoolTiles,
        spikes: &mut [R],
        (start, length): (usize, usize),
    ) {
        let time = self.operands.time_steps;
        let mut pieces = spikes.chunks_exact_mut(time * pool_tiles.length);
        let pooled = self
            .results
            .outputs
            .iter()
            .filter_map(|k| writes[*k].as_ref());
        let mut unpooled: ArrayVec<SharedSlice<'_, R>, MAX_OPERANDS> = ArrayVec::new();
        for piece in pieces.by_ref().take(pooled.clone().count()) {
            unpooled.push(SharedSlice::new(&mut piece[..time * length]));
        }
        let outputs = Outputs {
            writes: unpooled.iter().collect(),
            first: start,
            step: length,
        };
        for at in (start..start + length).step_by(self.tile) {
            let size = self.tile.min(start + length - at);
            self.run_tile(reads, &outputs, writes, (at, size));
        }
        let whole = pool_tiles.pooled(self.operands.elements);
        let (first, count) = (pool_tiles.pooled(start), pool_tiles.pooled(length));
        for (unpooled, write) in unpooled.iter().zip(pooled) {
            for t in 0..time {
                // SAFETY: the tiles are done, and bands are disjoint at every step.
                let (from, to) = unsafe {
                    let from = unpooled.range(t * length, length);
                    (from, write.range(t * whole + first, count))
                };
                pool_tiles.maxima(from, to);
            }
        }
    }
}

/// The operands as slices; those of 16 bits and of one bit are left out.
pub(super) fn open_reads<'a, R: Float>(reads: &[View<'a>]) -> [&'a [R]; MAX_OPERANDS] {
    let mut values: [&[R]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
    for (value, read) in values.iter_mut().zip(reads) {
        if !matches!(read, View::F16(_) | View::BF16(_) | View::Bits(_)) {
            *value = R::of(read);
        }
    }
    values
}

/// As [`open_reads`], with the results as slices that tiles share.
pub(super) fn open<'a, 'b, R: Float>(
    reads: &[View<'a>],
    writes: &'b mut [ViewMut<'_>],
) -> (
    [&'a [R]; MAX_OPERANDS],
    [Option<SharedSlice<'b, R>>; MAX_OPERANDS],
) {
    let mut shared = [const { None }; MAX_OPERANDS];
    for (shared, write) in shared.iter_mut().zip(writes) {
        let stored = !matches!(write, ViewMut::F16(_) | ViewMut::BF16(_) | ViewMut::Bits(_));
        if stored && !matches!(write, ViewMut::Unused) {
            *shared = Some(SharedSlice::new(R::of_mut(write)));
        }
    }
    (open_reads(reads), shared)
}

impl<R: Float> Kernel for ScanKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let (values, shared) = open::<R>(reads, writes);
        let this = &*self;
        let elements = this.operands.elements;
        if let Some(pool_tiles) = this.pool_tiles {
            let spikes = Pieces::equal(workspace, &this.threads);
            parallel::for_each(elements.div_ceil(pool_tiles.length.max(1)), |k| {
                let start = k * pool_tiles.length;
                let length = pool_tiles.length.min(elements - start);
                spikes.with(|words| {
                    let spikes = R::from_words(words);
                    this.run_band(&values, &shared, pool_tiles, spikes, (start, length));
                });
            });
            return Ok(());
        }
        let outputs = Outputs {
            writes: this
                .results
                .outputs
                .iter()
                .filter_map(|k| shared[*k].as_ref())
                .collect(),
            first: 0,
            step: elements,
        };
        parallel::for_each(elements.div_ceil(this.tile), |k| {
            let start = k * this.tile;
            this.run_tile(
                &values,
                &outputs,
                &shared,
                (start, this.tile.min(elements - start)),
            );
        });
        Ok(())
    }
}
