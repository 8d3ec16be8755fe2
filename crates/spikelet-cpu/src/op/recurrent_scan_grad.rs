//! The multi-step backward pass (BPTT) of a neuron whose spikes feed back through a weight matrix.
//!
//! A tile of rows, the samples of a batch, is processed from the last step to the first, without waiting
//! for other tiles. Nothing is recomputed. After each step but the first the product dL/dx[t]·W is added to
//! the gradient of the spikes of the step before.

use super::recurrent_scan::{features_of, tile_rows};
use super::row_products;
use super::scan::open_reads;
use super::scan_ports::{Gradients, Operands};
use super::step_program::{StepProgram, StepScratch};
use super::tile_operand::{self, TileOperand};
use super::tile_result::TileResult;
use super::{Float, Kernel, MAX_OPERANDS, Types};
use crate::memory::{View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError};
use spikelet_graph::op::{Feedback, Port, Ports, ScanGrad};
use spikelet_graph::{DType, TensorType};

pub(super) struct RecurrentScanGradKernel<R> {
    feedback: Feedback,
    /// The operands: the weight and its type.
    weight: (usize, TensorType),
    /// By operand, when a step reads it.
    times: Vec<ReadAt>,
    /// The operands with the sequence of each state.
    states: Vec<usize>,
    /// The gradient of the first sequence is always needed.
    grads: Gradients,
    /// The result with the gradient of the first product.
    of_product: usize,
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

/// Which step of an operand a step reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadAt {
    /// It is not read step by step.
    Never,
    Same,
    /// The same, but for the first.
    SameAfterFirst,
    Before,
}

impl ReadAt {
    fn of(port: Port) -> Self {
        match port {
            Port::Driven | Port::Sequence(_) | Port::OutputGrad(_) => Self::Same,
            // The sequence is one step behind already.
            Port::Before => Self::SameAfterFirst,
            Port::StateSeq(_) => Self::Before,
            _ => Self::Never,
        }
    }
}

pub(super) fn workspace_words(op: &ScanGrad, types: &Types) -> usize {
    let features = features_of(types);
    let packed = match types.float() {
        DType::F64 => row_products::packed_elements::<f64>(features, features),
        _ => row_products::packed_elements::<f32>(features, features).div_ceil(2),
    };
    let weight = &types.inputs[op.reads(Port::Weight)];
    packed.saturating_add(tile_operand::weight_words(weight))
}

impl<R: Float> RecurrentScanGradKernel<R> {
    pub(super) fn new(
        op: &ScanGrad,
        feedback: &Feedback,
        types: &Types,
        threads: usize,
    ) -> Result<Self, CompileError> {
        let r = &op.of.recurrence;
        let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new(op, types);
        let features = features_of(types);
        let mut grads = Gradients::new(op, types);
        grads.wanted_inputs[0] = true;
        let program = StepProgram::new(
            r.backward_program(
                &op.present_outputs(),
                &grads.wanted_inputs,
                &grads.wanted_params,
            )?,
            &operands,
            features,
            op.params_by_channel(&types.inputs),
        );
        let rows = operands.elements.checked_div(features).unwrap_or(0);
        let tile = tile_rows(rows, features, threads);
        let blocks = |count: usize| vec![Block::filled(R::ZERO, tile * features); count];
        let converted = |ty| TileOperand::block(ty, tile * features);
        let weight = op.reads(Port::Weight);
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
            weight: (weight, types.inputs[weight].clone()),
            times: op.operands().into_iter().map(ReadAt::of).collect(),
            states: (0..states).filter_map(|k| op.state_operand(k)).collect(),
            grads,
            of_product: op.writes(Port::FirstProduct),
            feedback: feedback.clone(),
            program,
            operands,
            features,
            tile,
        })
    }

    /// The first element of an operand that the step `t` of a tile reads, if it reads a sequence.
    fn first_of(&self, operand: usize, t: usize, start: usize) -> Option<usize> {
        let elements = self.operands.elements;
        let at = t * elements + start;
        match self.times[operand] {
            ReadAt::Never => None,
            ReadAt::Same => Some(at),
            ReadAt::SameAfterFirst => (t > 0).then_some(at),
            ReadAt::Before => (t > 0).then(|| at - elements),
        }
    }

    fn run_tile(
        &self,
        (reads, sources): (&[&[R]], &[TileOperand<'_, R>]),
        results: &[TileResult<'_, R>],
        weight: &[R],
        (start, length): (usize, usize),
    ) {
        let (o, feedback) = (&self.operands, &self.feedback);
        // SAFETY: tiles are disjoint.
        let write = |k: usize| unsafe { results[k].range(start, length) };
        let of_inputs = || self.grads.of_inputs.iter().map(|k| &results[*k]);
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
            self.grads.add_to(after, (o, reads), t, (start, length));
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
                let sequences = o.sequences.iter().map(|x| tiles[x.operand]);
                inputs.extend(sequences.map(|x| &x[inside.clone()]));
                for (k, initial) in initial.iter().enumerate() {
                    inputs.push(match t {
                        0 => &initial[inside.clone()],
                        _ => &tiles[self.states[k]][inside.clone()],
                    });
                }
                let grads = self.grads.outputs.iter();
                inputs.extend(grads.map(|operand| &tiles[*operand][inside.clone()]));
                inputs.extend(after.iter().map(|grad| &grad[inside.clone()]));

                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                let input_grads = of_inputs().zip(input_grads.iter_mut());
                for ((result, tile), _) in input_grads
                    .zip(&self.grads.wanted_inputs)
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
                let wanted = params.iter_mut().zip(&self.grads.wanted_params);
                let wanted = wanted.filter(|(_, wanted)| **wanted);
                outs.extend(wanted.map(|(b, _)| &mut b[inside.clone()]));
                self.program
                    .run((o, reads), step, (start, &block), &inputs, &mut outs);
            }
            let wanted = sums.iter_mut().zip(&*params).zip(&self.grads.wanted_params);
            for ((sum, step), _) in wanted.filter(|(_, wanted)| **wanted) {
                for (sum, step) in sum[..length].iter_mut().zip(&step[..length]) {
                    *sum = *sum + *step;
                }
            }
            let at = t * o.elements + start;
            for (result, tile) in of_inputs().zip(&*input_grads) {
                // SAFETY: tiles are disjoint at every step.
                unsafe { result.store((at, length), tile, features) };
            }
            // SAFETY: as above.
            let dx = unsafe { results[self.grads.of_inputs[0]].range(at, length) };
            let dx: &[R] = dx.unwrap_or(&mut input_grads[0][..length]);
            if t > 0 || feedback.continues {
                let sizes = (features, features);
                let to = &mut before[feedback.state][..length];
                row_products::multiply_add(dx, weight, sizes, to);
            } else if let Some(to) = write(self.of_product) {
                to.copy_from_slice(dx);
            }
            std::mem::swap(after, before);
        }
        let states = self.grads.of_states.iter().zip(&*after);
        for (k, from) in states.chain(self.grads.of_params.iter().zip(&*sums)) {
            if let Some(to) = write(*k) {
                to.copy_from_slice(&from[..length]);
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
        let values = open_reads::<R>(reads);
        let sources: ArrayVec<_, MAX_OPERANDS> = reads.iter().map(TileOperand::of).collect();
        let results = writes.iter_mut().map(TileResult::of);
        let results: ArrayVec<_, MAX_OPERANDS> = results.collect();
        let (weight, ty) = &this.weight;
        let (weight, packed) = tile_operand::weight::<R>(&reads[*weight], ty, workspace);
        let sizes = (this.features, this.features);
        row_products::pack(weight, sizes, packed);
        let (weight, tile) = (&*packed, this.tile * this.features);
        parallel::for_each(elements.div_ceil(tile), |k| {
            let start = k * tile;
            let length = tile.min(elements - start);
            this.run_tile((&values, &sources), &results, weight, (start, length));
        });
        Ok(())
    }
}
