//! The multi-step backward pass (BPTT) of a neuron whose spikes feed back through a weight matrix.
//!
//! A tile of rows, the samples of a batch, is processed from the last step to the first, without waiting
//! for other tiles. Nothing is recomputed. After each step but the first the product dL/dx[t]·W is added to
//! the gradient of the spikes of the step before.

use super::recurrent_scan::{features_of, tile_rows};
use super::row_products;
use super::scan::{Operands, open};
use super::step_program::{StepProgram, StepScratch};
use super::tile_operand::{self, TileOperand};
use super::tile_result::TileResult;
use super::{Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::op::RecurrentScanGrad;
use spikelet_graph::{DType, TensorType};

pub(super) struct RecurrentScanGradKernel<R> {
    op: RecurrentScanGrad,
    weight: TensorType,
    program: StepProgram,
    operands: Operands,
    /// Which sequences and parameters need a gradient; the first sequence always does.
    wanted_inputs: Vec<bool>,
    wanted_params: Vec<bool>,
    /// Neurons of a row.
    features: usize,
    /// Rows of a tile.
    tile: usize,
    scratch: PerThread<Scratch<R>>,
}

struct Scratch<R> {
    step: StepScratch<R>,
    initial: Vec<Block<R>>,
    /// The elements of operands that are converted.
    operands: Vec<Block<R>>,
    /// dL/d(state), after and before the present step.
    after: Vec<Block<R>>,
    before: Vec<Block<R>>,
    /// One step's gradients of the sequences that are not results, and of the parameters.
    inputs: Vec<Block<R>>,
    params: Vec<Block<R>>,
    /// The sums of the parameters' gradients over time.
    sums: Vec<Block<R>>,
}

pub(super) fn workspace_words(op: &RecurrentScanGrad, types: &Types) -> usize {
    let features = features_of(types);
    let packed = match types.float() {
        DType::F64 => row_products::packed_elements::<f64>(features, features),
        _ => row_products::packed_elements::<f32>(features, features).div_ceil(2),
    };
    packed.saturating_add(tile_operand::weight_words(
        &types.inputs[op.weight_operand()],
    ))
}

impl<R: Float> RecurrentScanGradKernel<R> {
    pub(super) fn new(
        op: &RecurrentScanGrad,
        types: &Types,
        threads: usize,
    ) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new((sequences, states, params), op.time_steps, types);
        let features = features_of(types);
        let mut wanted_inputs = types.used[..sequences].to_vec();
        wanted_inputs[0] = true;
        let wanted_params = types.used[sequences + states..][..params].to_vec();
        let present = &op.present[..r.outputs.len()];
        let program = StepProgram::new(
            r.backward_program(present, &wanted_inputs, &wanted_params)?,
            &operands,
            features,
            r.params_by_channel(&types.inputs),
        );
        let rows = operands.elements.checked_div(features).unwrap_or(0);
        let tile = tile_rows(rows, features, threads);
        let blocks = |count: usize| vec![Block::filled(R::ZERO, tile * features); count];
        let converted = |ty| TileOperand::block(ty, tile * features);
        Ok(Self {
            scratch: PerThread::new(threads, || Scratch {
                step: program.scratch(params),
                initial: blocks(states),
                operands: types.inputs.iter().map(converted).collect(),
                after: blocks(states),
                before: blocks(states),
                inputs: blocks(sequences),
                params: blocks(params),
                sums: blocks(params),
            }),
            weight: types.inputs[op.weight_operand()].clone(),
            op: op.clone(),
            program,
            operands,
            wanted_inputs,
            wanted_params,
            features,
            tile,
        })
    }

    /// Adds the gradients of the states after step `t` that are operands.
    fn add_state_grads(
        &self,
        reads: &[&[R]],
        after: &mut [Block<R>],
        t: usize,
        (start, length): (usize, usize),
    ) {
        let (o, outputs) = (&self.operands, self.op.recurrence.outputs.len());
        for (k, after) in after.iter_mut().enumerate() {
            let mut add = |result: usize, at: usize| {
                if let Some(operand) = self.op.grad_operand(result) {
                    let grad = &reads[operand][at..at + length];
                    for (a, g) in after[..length].iter_mut().zip(grad) {
                        *a = *a + *g;
                    }
                }
            };
            if t + 1 == o.time_steps {
                add(outputs + k, start);
            }
            add(outputs + o.states + k, t * o.elements + start);
        }
    }

    /// The first element of an operand that the step `t` of a tile reads, if it reads a sequence.
    fn first_of(&self, operand: usize, t: usize, start: usize) -> Option<usize> {
        let (op, elements) = (&self.op, self.operands.elements);
        let present = op.present[..op.recurrence.outputs.len()].iter();
        let first = op.weight_operand() + 1;
        let grads = first..first + present.filter(|p| **p).count();
        let at = t * elements + start;
        if operand < self.operands.sequences || grads.contains(&operand) {
            Some(at)
        } else if operand == op.before_operand() {
            // The sequence is one step behind already.
            (t > 0).then_some(at)
        } else if (op.first_product()..op.before_operand()).contains(&operand) {
            (t > 0).then(|| at - elements)
        } else {
            None
        }
    }

    fn run_tile(
        &self,
        (reads, sources): (&[&[R]], &[TileOperand<'_, R>]),
        (results, writes): (
            &[TileResult<'_, R>],
            &[Option<SharedSlice<'_, R>>; MAX_OPERANDS],
        ),
        weight: &[R],
        (start, length): (usize, usize),
    ) {
        let (o, op) = (&self.operands, &self.op);
        let outputs = op.recurrence.outputs.len();
        let mut scratch = self.scratch.get();
        let Scratch {
            step,
            initial,
            operands: converted,
            after,
            before,
            inputs: input_grads,
            params,
            sums,
        } = &mut *scratch;
        let features = self.features;
        self.program.begin(o, reads, step);
        o.initial(reads, start, initial.iter_mut().map(|b| &mut b[..length]));
        for block in after.iter_mut().chain(sums.iter_mut()) {
            block[..length].fill(R::ZERO);
        }
        for t in (0..o.time_steps).rev() {
            self.add_state_grads(reads, after, t, (start, length));
            let mut tiles: [&[R]; MAX_OPERANDS] = [&[]; MAX_OPERANDS];
            for (k, (source, converted)) in sources.iter().zip(&mut *converted).enumerate() {
                if let Some(first) = self.first_of(k, t, start) {
                    tiles[k] = source.tile((first, length), features, converted);
                }
            }
            for block in self.program.blocks(length) {
                let (from, size) = (start + block.at, block.size);
                let at = t * o.elements + from;
                let inside = block.at..block.at + size;
                let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
                inputs.extend(tiles[..o.sequences].iter().map(|x| &x[inside.clone()]));
                for (k, initial) in initial.iter().enumerate() {
                    inputs.push(match t {
                        0 => &initial[inside.clone()],
                        _ => &tiles[op.state_operand(k)][inside.clone()],
                    });
                }
                let grads = (0..outputs).filter_map(|k| op.grad_operand(k));
                inputs.extend(grads.map(|operand| &tiles[operand][inside.clone()]));
                inputs.extend(after.iter().map(|grad| &grad[inside.clone()]));

                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                let input_grads = results.iter().zip(input_grads.iter_mut());
                for ((result, tile), _) in input_grads
                    .zip(&self.wanted_inputs)
                    .filter(|(_, wanted)| **wanted)
                {
                    outs.extend(match result {
                        // The first gradient is needed in any case.
                        TileResult::Unused => Some(&mut tile[inside.clone()]),
                        // SAFETY: tiles are disjoint at every step, and so are their blocks.
                        result => unsafe { result.elements(at, (tile, inside.clone())) },
                    });
                }
                outs.extend(before.iter_mut().map(|b| &mut b[inside.clone()]));
                let wanted = params.iter_mut().zip(&self.wanted_params);
                let wanted = wanted.filter(|(_, wanted)| **wanted);
                outs.extend(wanted.map(|(b, _)| &mut b[inside.clone()]));
                self.program
                    .run((o, reads), step, (start, &block), &inputs, &mut outs);
            }
            let wanted = sums.iter_mut().zip(&*params).zip(&self.wanted_params);
            for ((sum, step), _) in wanted.filter(|(_, wanted)| **wanted) {
                for (sum, step) in sum[..length].iter_mut().zip(&step[..length]) {
                    *sum = *sum + *step;
                }
            }
            let at = t * o.elements + start;
            for (result, tile) in results.iter().zip(&*input_grads) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((at, length), tile, features) };
            }
            let dx: &[R] = match &results[0] {
                // SAFETY: as above.
                TileResult::Same(write) => unsafe { write.range(at, length) },
                _ => &input_grads[0][..length],
            };
            if t > 0 || op.continues {
                let sizes = (features, features);
                let to = &mut before[op.fed][..length];
                row_products::multiply_add(dx, weight, sizes, to);
            } else if let Some(write) = &writes[op.first_product() - o.sequences] {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(dx);
            }
            std::mem::swap(after, before);
        }
        for (from, write) in after.iter().chain(&*sums).zip(writes) {
            if let Some(write) = write {
                // SAFETY: tiles are disjoint.
                unsafe { write.range(start, length) }.copy_from_slice(&from[..length]);
            }
        }
    }
}

impl<R: Float> Kernel for RecurrentScanGradKernel<R> {
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
        let (sequences, rest) = writes.split_at_mut(this.operands.sequences);
        let (values, shared) = open::<R>(reads, rest);
        let sources: ArrayVec<_, MAX_OPERANDS> = reads.iter().map(TileOperand::of).collect();
        let results = sequences.iter_mut().map(TileResult::of);
        let results: ArrayVec<_, MAX_OPERANDS> = results.collect();
        let weight = &reads[this.op.weight_operand()];
        let (weight, packed) = tile_operand::weight::<R>(weight, &this.weight, workspace);
        let sizes = (this.features, this.features);
        row_products::pack(weight, sizes, packed);
        let (weight, tile) = (&*packed, this.tile * this.features);
        parallel::for_each(elements.div_ceil(tile), |k| {
            let start = k * tile;
            let length = tile.min(elements - start);
            this.run_tile(
                (&values, &sources),
                (&results, &shared),
                weight,
                (start, length),
            );
        });
        Ok(())
    }
}
