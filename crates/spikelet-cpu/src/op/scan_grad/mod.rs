//! The multi-step backward pass of a neuron (BPTT).
//!
//! Without feedback the states of a tile of elements are recomputed, forward in time, into memory that stays in the
//! L2 cache; then the derived step runs backward. Checkpoints of the states, which other devices use, are not read.
//! With feedback the states are operands; after each step but the first the product dL/dx[t]·W is added to the gradient
//! of the spikes of the step before. 16-bit sequences are converted a tile at a time.

mod pieces;
mod read_at;

use super::pool_tiles::PoolTiles;
use super::scan_ports::{Gradients, Memory, Operands, tile};
use super::step_program::{StepProgram, StepScratch, Tiles};
use super::tile_operand::{self, TileOperand};
use super::tile_result::TileResult;
use super::{
    CpuKernel, Float, Kernel, Lowered, MAX_OPERANDS, PrepareContext, RunResult, Types, words_of,
};
use crate::gemm::{self, Factor, Gemm, Rounding};
use crate::memory::{View, ViewMut};
use crate::parallel;
use crate::scratch::{PerThread, Pieces};
use arrayvec::ArrayVec;
use read_at::ReadAt;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::TensorType;
use spikelet_graph::op::{Feedback, Port, Ports, ScanGrad};

/// Elements of a thread's recomputed states: 512 KiB of f32, a part of the L2 cache.
const HISTORY: usize = 128 * 1024;

pub(super) struct ScanGradKernel<R> {
    operands: Operands,
    grads: Gradients,
    /// By operand, when a step reads it, backward and forward.
    times: Vec<ReadAt>,
    forward_times: Vec<ReadAt>,
    backward: StepProgram,
    /// The step that recomputes the states, without feedback.
    forward: Option<StepProgram>,
    feedback: Option<Product>,
    /// The pooling of the outputs.
    pool_tiles: Option<PoolTiles>,
    /// The length of the last axis.
    features: usize,
    /// Elements of a tile.
    tile: usize,
    scratch: PerThread<Scratch<R>>,
    threads: PerThread<()>,
}

/// The operands, the tiles, the feedback and the pooling.
type Parts = (Operands, (usize, Tiles), Option<Product>, Option<PoolTiles>);

/// What happens behind each step of a scan with feedback.
struct Product {
    feedback: Feedback,
    /// The operands: the weight and its type, and the sequence of each state.
    weight: (usize, TensorType),
    features: usize,
    states: Vec<usize>,
    /// The result with the gradient of the first product.
    of_first: usize,
}

struct Scratch<R> {
    forward: Option<StepScratch<R>>,
    backward: StepScratch<R>,
    /// The elements of operands that are converted.
    operands: Vec<Block<R>>,
    initial: Vec<Block<R>>,
    /// dL/d(state), after and before the present step.
    after: Vec<Block<R>>,
    before: Vec<Block<R>>,
    /// One step's gradients of the sequences that are not results as they are, and of the parameters; their sums over
    /// time.
    inputs: Vec<Block<R>>,
    params: Vec<Block<R>>,
    input_sums: Vec<Block<R>>,
    param_sums: Vec<Block<R>>,
}

/// What a sweep through a tile reads beside the operands.
struct Known<'a, R> {
    /// Without feedback the states before each step: `[state][t][element]`.
    history: &'a [R],
    /// The gradients of the present outputs, if they were pooled.
    outputs: ArrayVec<&'a [R], MAX_OPERANDS>,
    /// The index of their first element, and the elements of a step.
    first: usize,
    step: usize,
}

fn tile_of(op: &ScanGrad, operands: &Operands, types: &Types, threads: usize) -> (usize, Tiles) {
    if op.of.feedback.is_some() {
        let features = types.inputs[0].shape.last().copied().unwrap_or(0);
        return (
            operands.row_tile(features, threads),
            Tiles::Rows { features },
        );
    }
    let states = op.of.recurrence.states.len();
    let states = op.of.time_steps.saturating_mul(states);
    let history = HISTORY / states.max(1) / 64 * 64;
    let most = history.clamp(64, operands.most());
    (tile(operands.elements, threads, most), Tiles::Any)
}

fn pool_tiles_of(op: &ScanGrad, types: &Types) -> Option<PoolTiles> {
    let present = op.present_outputs().contains(&true);
    let pool = op.of.pool.filter(|_| present)?;
    Some(PoolTiles::new(pool, &types.inputs[0].shape[1..]))
}

/// Elements of the states of a tile, or of those of a band with its spikes, and of a step of pooled gradients.
fn history_elements(op: &ScanGrad, tile: usize, pool_tiles: Option<PoolTiles>) -> usize {
    let states = op.of.recurrence.states.len();
    let present = op.present_outputs();
    let present = present.iter().filter(|p| **p).count();
    let (step, pooled) = match pool_tiles {
        Some(pool_tiles) => (
            (states + present).saturating_mul(pool_tiles.length),
            pool_tiles.pooled(pool_tiles.length),
        ),
        None => (states.saturating_mul(tile), 0),
    };
    op.of.time_steps.saturating_mul(step).saturating_add(pooled)
}

impl CpuKernel for ScanGrad {
    fn takes_in_place(&self) -> bool {
        true
    }

    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let feedback = Product::of(self, &cx.types);
        let operands = Operands::new(self, &cx.types);
        let tile = tile_of(self, &operands, &cx.types, cx.threads);
        let pool_tiles = pool_tiles_of(self, &cx.types);
        let words = match &feedback {
            Some(product) => product.words::<R>(),
            None => words_of::<R>(history_elements(self, tile.0, pool_tiles))
                .saturating_mul(cx.threads.max(1)),
        };
        Lowered::new(words, move || {
            let parts = (operands, tile, feedback, pool_tiles);
            cx.boxed(ScanGradKernel::<R>::new(self, cx, parts))
        })
    }

    fn converts(&self) -> bool {
        true
    }

    /// A backward step reads the states and their gradients.
    fn gathered(&self, types: &Types) -> usize {
        let r = &self.of.recurrence;
        let step = r.inputs.len() + 2 * r.states.len() + r.outputs.len();
        types.inputs.len().max(step)
    }

    fn reads_bits(&self, _: &[TensorType], operand: usize) -> bool {
        self.operand(Port::Before) == Some(operand)
    }
}

impl Product {
    fn of(op: &ScanGrad, types: &Types) -> Option<Self> {
        let weight = op.operand(Port::Weight)?;
        let states = 0..op.of.recurrence.states.len();
        Some(Self {
            feedback: op.of.feedback.clone()?,
            weight: (weight, types.inputs[weight].clone()),
            features: types.inputs[weight].shape.last().copied().unwrap_or(0),
            states: states.filter_map(|k| op.state_operand(k)).collect(),
            of_first: op.writes(Port::FirstProduct),
        })
    }

    /// Words of the packed weight, and of the weight if it is converted.
    fn words<R: Float>(&self) -> usize {
        let packed = words_of::<R>(gemm::packed_elements(self.features, self.features));
        packed.saturating_add(tile_operand::weight_words(&self.weight.1))
    }

    /// Adds dL/dx·W of a step, with the packed weight, to the gradient of the spikes of the step before.
    fn add<R: Float>(&self, dx: &[R], weight: &[R], before: &mut [Block<R>]) {
        let features = self.features;
        let product = Gemm {
            m: dx.len() / features,
            n: features,
            k: features,
            a: (dx, (features, 1)),
            b: Factor::Packed(weight),
            accumulate: true,
            rounding: Rounding::of(false),
        };
        product.run_here(&mut before[self.feedback.state][..dx.len()], features);
    }
}

impl<R: Float> ScanGradKernel<R> {
    fn new(
        op: &ScanGrad,
        cx: &PrepareContext<'_>,
        (operands, (tile, tiles), feedback, pool_tiles): Parts,
    ) -> Result<Self, CompileError> {
        let (r, types, threads) = (&op.of.recurrence, &cx.types, cx.threads);
        let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
        let features = types.inputs[0].shape.last().copied().unwrap_or(0);
        let mut grads = Gradients::new(op, types);
        // The product multiplies the gradient of the first sequence.
        grads.wanted_inputs[0] |= feedback.is_some();
        let present = op.present_outputs();
        let spiking = match pool_tiles {
            Some(_) => present.clone(),
            None => vec![false; present.len()],
        };
        let by_channel = op.params_by_channel(&types.inputs);
        let program = |program| StepProgram::new(program, &operands, tiles, by_channel);
        let forward = match feedback {
            Some(_) => None,
            None => Some(program(r.forward_program(&spiking)?)),
        };
        let (wanted_inputs, wanted_params) = (&grads.wanted_inputs, &grads.wanted_params);
        let backward = program(r.backward_program(&present, wanted_inputs, wanted_params)?);
        let blocks = |count: usize| vec![Block::filled(R::ZERO, tile); count];
        let initial = if feedback.is_some() { states } else { 0 };
        let scratch = || Scratch {
            forward: forward.as_ref().map(|forward| forward.scratch(params)),
            backward: backward.scratch(params),
            operands: (types.inputs.iter())
                .map(|ty| TileOperand::block(ty, tile))
                .collect(),
            initial: blocks(initial),
            after: blocks(states),
            before: blocks(states),
            inputs: blocks(sequences),
            params: blocks(params),
            input_sums: blocks(sequences),
            param_sums: blocks(params),
        };
        let ports = || op.operands().into_iter().zip(&types.inputs);
        let time = |(port, ty)| ReadAt::of(port, ty, pool_tiles.is_some());
        let forward_time = |(port, ty)| match port {
            Port::Sequence(_) => ReadAt::of(port, ty, false),
            _ => ReadAt::Never,
        };
        Ok(Self {
            scratch: PerThread::new(threads, scratch),
            times: ports().map(time).collect(),
            forward_times: ports().map(forward_time).collect(),
            threads: PerThread::new(threads, || ()),
            operands,
            grads,
            backward,
            forward,
            feedback,
            pool_tiles,
            features,
            tile,
        })
    }

    /// The states before every step, `[state][t][element]`; in a band also the spikes of every
    /// step, `[output][t][element of the band]`.
    fn recompute(
        &self,
        memory: &Memory<'_, R>,
        history: &mut [R],
        mut spikes: Option<(&mut [R], (usize, usize))>,
        (start, length): (usize, usize),
    ) {
        let (o, reads) = (&self.operands, &memory.reads[..]);
        let mut scratch = self.scratch.get();
        let Scratch {
            forward: step,
            operands: converted,
            before: last,
            ..
        } = &mut *scratch;
        let (Some(forward), Some(step)) = (&self.forward, step) else {
            return;
        };
        forward.begin((o, reads), (start, length), step);
        let whole = o.time_steps * length;
        o.initial(
            reads,
            start,
            history.chunks_mut(whole).map(|h| &mut h[..length]),
        );
        // Of the last step only the spikes are needed.
        let steps = o.time_steps - usize::from(spikes.is_none());
        for t in 0..steps {
            let tiles = self.tiles(memory, converted, &self.forward_times, t, (start, length));
            for block in forward.blocks(length) {
                let (at, size) = (block.at, block.size);
                let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                let sequences = o.sequences.iter().map(|x| tiles[x.operand]);
                inputs.extend(sequences.map(|x| &x[at..at + size]));
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
                forward.run((o, reads), step, (start, &block), &inputs, &mut outs);
            }
        }
    }

    /// What step `t` of a tile reads of each operand.
    fn tiles<'a>(
        &self,
        memory: &'a Memory<'_, R>,
        converted: &'a mut [Block<R>],
        times: &[ReadAt],
        t: usize,
        (start, length): (usize, usize),
    ) -> [&'a [R]; MAX_OPERANDS] {
        let mut tiles: [&[R]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
        let sources = memory.sources.iter().zip(converted).zip(times);
        for (tile, ((source, converted), time)) in tiles.iter_mut().zip(sources) {
            if let Some(first) = time.first(t, self.operands.elements, start) {
                *tile = source.tile((first, length), self.features, converted);
            }
        }
        tiles
    }

    /// The derived step, backward through a tile whose states are known.
    fn sweep(&self, memory: &Memory<'_, R>, known: &Known<'_, R>, (start, length): (usize, usize)) {
        let (o, grads, features) = (&self.operands, &self.grads, self.features);
        let reads = &memory.reads[..];
        let mut scratch = self.scratch.get();
        let Scratch {
            backward: step,
            operands: converted,
            initial,
            after,
            before,
            inputs: input_grads,
            params,
            input_sums,
            param_sums,
            ..
        } = &mut *scratch;
        let put = |k: usize, values: &[R]| {
            // SAFETY: tiles are disjoint.
            unsafe { memory.results[k].put((start, length), values, features) };
        };
        let of_inputs = || grads.of_inputs.iter().map(|k| &memory.results[*k]);
        self.backward.begin((o, reads), (start, length), step);
        o.initial(reads, start, initial.iter_mut().map(|b| &mut b[..length]));
        let sums = input_sums.iter_mut().chain(param_sums.iter_mut());
        for block in after.iter_mut().chain(sums) {
            block[..length].fill(R::ZERO);
        }
        for (sum, operand) in param_sums.iter_mut().zip(&grads.accumulators) {
            if let Some(operand) = operand {
                sum[..length].copy_from_slice(&reads[*operand][start..start + length]);
            }
        }
        for t in (0..o.time_steps).rev() {
            let at = t * o.elements + start;
            for (k, after) in after.iter_mut().enumerate() {
                for (operand, from) in grads.of_state_after(k, o, t, start) {
                    let block = &mut converted[operand];
                    let grad = memory.sources[operand].tile((from, length), features, block);
                    add(&mut after[..length], grad);
                }
            }
            let tiles = self.tiles(memory, converted, &self.times, t, (start, length));
            let given = self.given((&tiles, initial), known, t, (start, length));
            for block in self.backward.blocks(length) {
                let inside = block.at..block.at + block.size;
                let given = given.iter().map(|x| &x[inside.clone()]);
                let given = given.chain(after.iter().map(|grad| &grad[inside.clone()]));
                let given: ArrayVec<&[R], MAX_OPERANDS> = given.collect();
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                let results = of_inputs().zip(input_grads.iter_mut()).zip(&o.sequences);
                let wanted = results.zip(&grads.wanted_inputs);
                for (((result, tile), sequence), _) in wanted.filter(|(_, wanted)| **wanted) {
                    outs.extend(match result {
                        TileResult::Unused => Some(&mut tile[inside.clone()]),
                        _ if sequence.constant => Some(&mut tile[inside.clone()]),
                        // SAFETY: tiles are disjoint at every step, and so are their blocks.
                        result => unsafe { result.elements(at + block.at, (tile, inside.clone())) },
                    });
                }
                outs.extend(before.iter_mut().map(|b| &mut b[inside.clone()]));
                let wanted = params.iter_mut().zip(&grads.wanted_params);
                let wanted = wanted.filter(|(_, wanted)| **wanted);
                outs.extend(wanted.map(|(b, _)| &mut b[inside.clone()]));
                let place = (start, &block);
                self.backward
                    .run((o, reads), step, place, &given, &mut outs);
            }
            let constant = o.sequences.iter().zip(&grads.wanted_inputs);
            let constant = constant.map(|(sequence, wanted)| sequence.constant && *wanted);
            let constant: ArrayVec<bool, MAX_OPERANDS> = constant.collect();
            add_steps(input_sums, input_grads, &constant, length);
            add_steps(param_sums, params, &grads.wanted_params, length);
            let results = of_inputs().zip(&*input_grads).zip(&o.sequences);
            for ((result, tile), _) in results.filter(|(_, sequence)| !sequence.constant) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((at, length), tile, features) };
            }
            if let Some(product) = &self.feedback {
                // SAFETY: as above.
                let dx = unsafe { memory.results[grads.of_inputs[0]].range(at, length) };
                let dx: &[R] = dx.unwrap_or(&mut input_grads[0][..length]);
                match t > 0 || product.feedback.continues {
                    true => product.add(dx, memory.weight, before),
                    false => put(product.of_first, dx),
                }
            }
            std::mem::swap(after, before);
        }
        let constant = grads.of_inputs.iter().zip(&*input_sums).zip(&o.sequences);
        let constant = constant.filter(|(_, sequence)| sequence.constant);
        let states = grads.of_states.iter().zip(&*after);
        let params = grads.of_params.iter().zip(&*param_sums);
        for (k, values) in constant.map(|(of, _)| of).chain(states).chain(params) {
            put(*k, values);
        }
    }
}

/// Adds one step's gradients to sums over time where `is_summed`.
fn add_steps<R: Float>(
    sums: &mut [Block<R>],
    steps: &[Block<R>],
    is_summed: &[bool],
    length: usize,
) {
    let sums = sums.iter_mut().zip(steps).zip(is_summed);
    for ((sum, step), _) in sums.filter(|(_, is_summed)| **is_summed) {
        add(&mut sum[..length], &step[..length]);
    }
}

/// Adds one step's values to others.
fn add<R: Float>(to: &mut [R], values: &[R]) {
    for (to, value) in to.iter_mut().zip(values) {
        *to = *to + *value;
    }
}

impl<R: Float> Kernel for ScanGradKernel<R> {
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
        let Some(product) = &this.feedback else {
            let history = Pieces::equal(workspace, &this.threads);
            let piece = this
                .pool_tiles
                .map_or(this.tile, |pool_tiles| pool_tiles.length.max(1));
            parallel::for_each(elements.div_ceil(piece), |k| {
                let at = (k * piece, piece.min(elements - k * piece));
                history.with(|words| {
                    let scratch = R::from_words(words);
                    match this.pool_tiles {
                        Some(pool_tiles) => this.run_band(&memory, pool_tiles, scratch, at),
                        None => this.run_tile(&memory, scratch, at),
                    }
                });
            });
            return Ok(());
        };
        let (weight, ty) = &product.weight;
        let (weight, packed) = tile_operand::weight::<R>(&reads[*weight], ty, workspace);
        let features = product.features;
        gemm::pack((weight, (features, 1)), (features, features), packed);
        memory.weight = packed;
        parallel::for_each(elements.div_ceil(this.tile), |k| {
            let start = k * this.tile;
            let length = this.tile.min(elements - start);
            this.sweep(&memory, &Known::nothing(), (start, length));
        });
        Ok(())
    }
}
