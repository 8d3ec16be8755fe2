//! The multi-step forward pass of a neuron whose spikes feed back through a weight matrix.
//!
//! A tile of rows, the samples of a batch, is processed for all time steps, without waiting for other
//! tiles. In a step the rows of the transposed weight of the neurons that fired are added: the cost of the
//! product is proportional to the number of spikes.

use super::scan::open_reads;
use super::scan_ports::{Operands, Results};
use super::spike_sums::{self, Fired};
use super::step_program::{StepProgram, StepScratch};
use super::tile_operand::{self, TileOperand};
use super::tile_result::TileResult;
use super::{Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::op::{Feedback, Port, Ports, Scan};
use spikelet_graph::{DType, TensorType};

pub(super) struct RecurrentScanKernel<R> {
    feedback: Feedback,
    /// The operands: the weight and its type, and the product of the initial spikes.
    weight: (usize, TensorType),
    first_product: usize,
    results: Results,
    driven: usize,
    before: usize,
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

pub(super) fn workspace_words(op: &Scan, types: &Types) -> usize {
    let elements = spike_sums::table_elements(features_of(types));
    let bytes = if types.float() == DType::F64 { 8 } else { 4 };
    let table = elements.saturating_mul(bytes).div_ceil(8);
    let weight = &types.inputs[op.reads(Port::Weight)];
    table.saturating_add(tile_operand::weight_words(weight))
}

impl<R: Float> RecurrentScanKernel<R> {
    pub(super) fn new(
        op: &Scan,
        feedback: &Feedback,
        types: &Types,
        threads: usize,
    ) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let operands = Operands::new(op, types);
        let features = features_of(types);
        let used = types.used(op, Port::Output, r.outputs.len());
        let program = StepProgram::new(
            r.forward_program(&used)?,
            &operands,
            features,
            op.params_by_channel(&types.inputs),
        );
        let rows = operands.elements.checked_div(features).unwrap_or(0);
        let tile = tile_rows(rows, features, threads);
        let block = || Block::filled(R::ZERO, tile * features);
        let converted = |ty| TileOperand::block(ty, tile * features);
        let results = Results::new(op);
        let weight = op.reads(Port::Weight);
        Ok(Self {
            scratch: PerThread::new(threads, || Scratch {
                step: program.scratch(r.params.len()),
                now: vec![block(); r.states.len()],
                next: vec![block(); r.states.len()],
                driven: block(),
                inputs: (operands.sequences.iter())
                    .map(|sequence| converted(&types.inputs[sequence.operand]))
                    .collect(),
                outputs: results
                    .outputs
                    .iter()
                    .map(|k| converted(&types.outputs[*k]))
                    .collect(),
                fired: Fired::new(tile, features),
            }),
            weight: (weight, types.inputs[weight].clone()),
            first_product: op.reads(Port::FirstProduct),
            results,
            driven: op.writes(Port::Driven),
            before: op.writes(Port::Before),
            feedback: feedback.clone(),
            program,
            operands,
            features,
            tile,
        })
    }

    fn run_tile(
        &self,
        (reads, sequences): (&[&[R]], &[TileOperand<'_, R>]),
        results: &[TileResult<'_, R>],
        table: &[R],
        (start, length): (usize, usize),
    ) {
        let (o, feedback) = (&self.operands, &self.feedback);
        let before = &results[self.before];
        let outputs = || self.results.outputs.iter().map(|k| &results[*k]);
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
            // SAFETY: tiles are disjoint at every step.
            let write = |k: usize| unsafe { results[k].range(at, length) };
            let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
            for (sequence, converted) in sequences.iter().zip(&mut *converted) {
                inputs.push(sequence.tile((at, length), features, converted));
            }
            let (x, others) = (inputs[0], &inputs[1..]);
            let driven = write(self.driven).unwrap_or(&mut driven[..length]);
            if t == 0 && !feedback.continues {
                let product = &reads[self.first_product][start..start + length];
                spike_sums::add(x, product, driven);
                // SAFETY: tiles are disjoint at every step.
                unsafe { before.clear((at, length), features) };
            } else {
                let spikes = &now[feedback.state][..length];
                let bits = fired.set(spikes, features);
                // SAFETY: as above.
                unsafe { before.copy((at, length), (spikes, bits), features) };
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
                for (result, tile) in outputs().zip(&mut *tiles) {
                    // SAFETY: tiles are disjoint at every step, and so are their blocks.
                    outs.extend(unsafe { result.elements(at, (tile, inside.clone())) });
                }
                outs.extend(next.iter_mut().map(|state| &mut state[inside.clone()]));
                self.program
                    .run((o, reads), step, (start, &block), &inputs, &mut outs);
            }
            for (result, tile) in outputs().zip(&*tiles) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((at, length), tile, features) };
            }
            for (k, state) in self.results.state_seq.iter().zip(&*next) {
                if let Some(to) = write(*k) {
                    to.copy_from_slice(&state[..length]);
                }
            }
            std::mem::swap(now, next);
        }
        for (k, state) in self.results.last.iter().zip(&*now) {
            // SAFETY: tiles are disjoint.
            if let Some(to) = unsafe { results[*k].range(start, length) } {
                to.copy_from_slice(&state[..length]);
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
        let values = open_reads::<R>(reads);
        let results = writes.iter_mut().map(TileResult::of);
        let results: ArrayVec<_, MAX_OPERANDS> = results.collect();
        let sequences = this.operands.sequences.iter();
        let sequences = sequences.map(|sequence| TileOperand::of(&reads[sequence.operand]));
        let sequences: ArrayVec<_, MAX_OPERANDS> = sequences.collect();
        let (weight, ty) = &this.weight;
        let (weight, table) = tile_operand::weight::<R>(&reads[*weight], ty, workspace);
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
