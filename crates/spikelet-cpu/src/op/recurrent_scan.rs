//! The multi-step forward pass of a neuron whose spikes feed back through a weight matrix.
//!
//! A tile of rows, the samples of a batch, is processed for all time steps, without waiting for other
//! tiles. In a step the rows of the transposed weight of the neurons that fired are added: the cost of the
//! product is proportional to the number of spikes.

use super::scan::{Operands, open};
use super::spike_sums::{self, Fired};
use super::step_program::{StepProgram, StepScratch};
use super::tile_operand::{self, TileOperand};
use super::tile_result::TileResult;
use super::{Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::op::RecurrentScan;
use spikelet_graph::{DType, TensorType};

pub(super) struct RecurrentScanKernel<R> {
    op: RecurrentScan,
    weight: TensorType,
    program: StepProgram,
    operands: Operands,
    /// Neurons of a row.
    features: usize,
    /// Rows of a tile.
    tile: usize,
    scratch: PerThread<Scratch<R>>,
}

struct Scratch<R> {
    step: StepScratch<R>,
    now: Vec<Block<R>>,
    next: Vec<Block<R>>,
    driven: Block<R>,
    /// The elements of sequences and outputs that are converted.
    inputs: Vec<Block<R>>,
    outputs: Vec<Block<R>>,
    fired: Fired,
}

/// The results that tiles share.
struct Results<'a, R> {
    outputs: ArrayVec<TileResult<'a, R>, MAX_OPERANDS>,
    /// Last states, state sequences and the driven input.
    dense: [Option<SharedSlice<'a, R>>; MAX_OPERANDS],
    before: TileResult<'a, R>,
}

/// The neurons of a row.
pub(super) fn features_of(types: &Types) -> usize {
    types.inputs[0].shape.last().copied().unwrap_or(0)
}

/// Elements of a step of a tile, few enough that the step's operands and results stay in the L2 cache.
const TILE_ELEMENTS: usize = 24 * 1024;

/// The most rows of a tile.
const MOST_ROWS: usize = 48;

/// Rows of a tile: every thread gets the same number of tiles of nearly the same size. Rows are independent,
/// so the partition does not affect the result.
pub(super) fn tile_rows(rows: usize, features: usize, threads: usize) -> usize {
    let threads = threads.max(1);
    let most = (TILE_ELEMENTS / features.max(1)).clamp(4, MOST_ROWS);
    let tiles = rows.div_ceil(most).next_multiple_of(threads);
    match rows.div_ceil(tiles.max(1)) {
        few @ 0..4 => few,
        // Products are computed for several rows at once.
        many => many.next_multiple_of(4),
    }
}

pub(super) fn workspace_words(op: &RecurrentScan, types: &Types) -> usize {
    let elements = spike_sums::table_elements(features_of(types));
    let bytes = if types.float() == DType::F64 { 8 } else { 4 };
    let table = elements.saturating_mul(bytes).div_ceil(8);
    table.saturating_add(tile_operand::weight_words(&types.inputs[op.weight()]))
}

impl<R: Float> RecurrentScanKernel<R> {
    pub(super) fn new(
        op: &RecurrentScan,
        types: &Types,
        threads: usize,
    ) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let kinds = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new(kinds, op.time_steps, types);
        let features = features_of(types);
        let program = StepProgram::new(
            r.forward_program(&types.used[..r.outputs.len()])?,
            &operands,
            features,
            r.params_by_channel(&types.inputs),
        );
        let rows = operands.elements.checked_div(features).unwrap_or(0);
        let tile = tile_rows(rows, features, threads);
        let block = || Block::filled(R::ZERO, tile * features);
        let converted = |types: &[TensorType]| -> Vec<Block<R>> {
            let block = |ty| TileOperand::block(ty, tile * features);
            types.iter().map(block).collect()
        };
        Ok(Self {
            scratch: PerThread::new(threads, || Scratch {
                step: program.scratch(operands.params),
                now: vec![block(); operands.states],
                next: vec![block(); operands.states],
                driven: block(),
                inputs: converted(&types.inputs[..operands.sequences]),
                outputs: converted(&types.outputs[..r.outputs.len()]),
                fired: Fired::new(tile, features),
            }),
            weight: types.inputs[op.weight()].clone(),
            op: op.clone(),
            program,
            operands,
            features,
            tile,
        })
    }

    fn run_tile(
        &self,
        (reads, sequences): (&[&[R]], &[TileOperand<'_, R>]),
        results: &Results<'_, R>,
        table: &[R],
        (start, length): (usize, usize),
    ) {
        let (o, op) = (&self.operands, &self.op);
        let outputs = op.recurrence.outputs.len();
        let mut scratch = self.scratch.get();
        let Scratch {
            step,
            now,
            next,
            driven,
            inputs: converted,
            outputs: tiles,
            fired,
        } = &mut *scratch;
        let features = self.features;
        self.program.begin(o, reads, step);
        o.initial(reads, start, now.iter_mut().map(|b| &mut b[..length]));
        for t in 0..o.time_steps {
            let at = t * o.elements + start;
            let write = |k: usize| {
                let write = results.dense[k - outputs].as_ref();
                // SAFETY: tiles are disjoint at every step.
                write.map(|w| unsafe { w.range(at, length) })
            };
            let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
            for (sequence, converted) in sequences.iter().zip(&mut *converted) {
                inputs.push(sequence.tile((at, length), features, converted));
            }
            let (x, others) = (inputs[0], &inputs[1..]);
            let driven = write(op.driven()).unwrap_or(&mut driven[..length]);
            if t == 0 && !op.continues {
                let product = &reads[op.first_product()][start..start + length];
                spike_sums::add(x, product, driven);
                // SAFETY: tiles are disjoint at every step.
                unsafe { results.before.clear((at, length), features) };
            } else {
                let spikes = &now[op.fed][..length];
                let bits = fired.set(spikes, features);
                // SAFETY: as above.
                unsafe { results.before.copy((at, length), (spikes, bits), features) };
                fired.drive(table, x, features, driven);
            }
            for block in self.program.blocks(length) {
                let (at, size) = (at + block.at, block.size);
                let inside = block.at..block.at + size;
                let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
                inputs.push(&driven[inside.clone()]);
                inputs.extend(others.iter().map(|x| &x[inside.clone()]));
                inputs.extend(now.iter().map(|state| &state[inside.clone()]));
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                for (result, tile) in results.outputs.iter().zip(&mut *tiles) {
                    // SAFETY: tiles are disjoint at every step, and so are their blocks.
                    outs.extend(unsafe { result.elements(at, (tile, inside.clone())) });
                }
                outs.extend(next.iter_mut().map(|state| &mut state[inside.clone()]));
                self.program
                    .run((o, reads), step, (start, &block), &inputs, &mut outs);
            }
            for (result, tile) in results.outputs.iter().zip(&*tiles) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((at, length), tile, features) };
            }
            for (k, state) in next.iter().enumerate() {
                if let Some(to) = write(op.state_sequence(k)) {
                    to.copy_from_slice(&state[..length]);
                }
            }
            std::mem::swap(now, next);
        }
        for (state, write) in now.iter().zip(&results.dense) {
            if let Some(write) = write {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(&state[..length]);
            }
        }
    }
}

impl<R: Float> Kernel for RecurrentScanKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let this = &*self;
        let elements = this.operands.elements;
        if elements == 0 {
            return Ok(());
        }
        let (outputs, rest) = writes.split_at_mut(this.op.recurrence.outputs.len());
        let (dense, before) = rest.split_at_mut(rest.len() - 1);
        let (values, dense) = open::<R>(reads, dense);
        let results = Results {
            outputs: outputs.iter_mut().map(TileResult::of).collect(),
            dense,
            before: TileResult::of(&mut before[0]),
        };
        let sequences = reads[..this.operands.sequences].iter();
        let sequences: ArrayVec<_, MAX_OPERANDS> = sequences.map(TileOperand::of).collect();
        let weight = &reads[this.op.weight()];
        let (weight, table) = tile_operand::weight::<R>(weight, &this.weight, workspace);
        spike_sums::transpose(weight, this.features, table);
        let (table, tile) = (&*table, this.tile * this.features);
        parallel::for_each(elements.div_ceil(tile), |k| {
            let start = k * tile;
            let length = tile.min(elements - start);
            this.run_tile((&values, &sequences), &results, table, (start, length));
        });
        Ok(())
    }
}
