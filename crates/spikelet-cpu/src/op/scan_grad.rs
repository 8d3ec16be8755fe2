//! The multi-step backward pass of a neuron (BPTT).
//!
//! For a tile of elements the states are computed again, forward through time, into a piece of
//! memory that stays in the second-level cache; then the derived step runs backward. Nothing
//! but the scan's own operands was saved.

use super::scan::{MOST, Operands, open, tile};
use super::{BLOCK, Float, Kernel, Types};
use crate::memory::{Shared, View, ViewMut};
use crate::scratch::PerThread;
use rayon::prelude::*;
use spikelet_expr::{CompileError, Program, Workspace};
use spikelet_graph::op::ScanGrad;

/// Elements of recomputed states that a thread holds: 256 KiB of f32.
const HISTORY: usize = 64 * 1024;

pub(super) struct ScanGradKernel<R> {
    forward: Program,
    backward: Program,
    operands: Operands,
    /// The operand with the gradient of each output, last state and state sequence.
    grads: Vec<Option<usize>>,
    outputs: usize,
    /// Which sequences and parameters need a gradient.
    wanted_inputs: Vec<bool>,
    wanted_params: Vec<bool>,
    tile: usize,
    scratch: PerThread<Scratch<R>>,
    threads: usize,
}

struct Scratch<R> {
    forward: Workspace<R>,
    backward: Workspace<R>,
    params: Vec<Vec<R>>,
    /// dL/d(state), after and before the present step.
    after: Vec<Vec<R>>,
    before: Vec<Vec<R>>,
    /// One step's gradients of constant sequences and of parameters, and their sums over time.
    step: Vec<Vec<R>>,
    sums: Vec<Vec<R>>,
}

fn tile_of(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    let elements = types.inputs[0].shape[1..].iter().product();
    let history = HISTORY / op.time_steps.max(1) / 64 * 64;
    tile(elements, threads, history.clamp(64, BLOCK))
}

fn history_elements(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    op.recurrence.states.len() * op.time_steps * tile_of(op, types, threads)
}

pub(super) fn workspace_words(op: &ScanGrad, types: &Types, threads: usize) -> usize {
    let bytes = types.inputs[0].bytes() / types.inputs[0].len().max(1);
    threads * (history_elements(op, types, threads) * bytes).div_ceil(8)
}

impl<R: Float> ScanGradKernel<R> {
    pub(super) fn new(op: &ScanGrad, types: &Types, threads: usize) -> Result<Self, CompileError> {
        let r = &op.recurrence;
        let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
        let operands = Operands::new((sequences, states, params), op.time_steps, types)?;
        let outputs = r.outputs.len();
        let wanted_inputs = types.used[..sequences].to_vec();
        let wanted_params = types.used[sequences + states..].to_vec();
        let forward = r.forward_program(&vec![false; outputs])?;
        let backward = r.backward_program(&op.present[..outputs], &wanted_inputs, &wanted_params)?;
        let blocks = |n: usize| vec![vec![R::ZERO; BLOCK]; n];
        Ok(Self {
            scratch: PerThread::new(threads, || Scratch {
                forward: forward.workspace(BLOCK),
                backward: backward.workspace(BLOCK),
                params: blocks(params),
                after: blocks(states),
                before: blocks(states),
                step: blocks(sequences + params),
                sums: blocks(sequences + params),
            }),
            grads: (0..op.present.len()).map(|k| op.grad_operand(k)).collect(),
            tile: tile_of(op, types, threads),
            forward,
            backward,
            operands,
            outputs,
            wanted_inputs,
            wanted_params,
            threads,
        })
    }

    /// The states before every step, `[state][t][element]`.
    fn recompute(
        &self,
        reads: &[&[R]],
        work: &mut Workspace<R>,
        history: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let whole = o.time_steps * length;
        o.initial(reads, start, history.chunks_mut(whole).map(|h| &mut h[..length]));
        for t in 1..o.time_steps {
            let mut inputs: [&[R]; MOST] = [&[]; MOST];
            let mut outs: [&mut [R]; MOST] = std::array::from_fn(|_| Default::default());
            for k in 0..o.sequences {
                let at = o.at(k, t - 1, start);
                inputs[k] = &reads[k][at..at + length];
            }
            for (k, state) in history.chunks_mut(whole).enumerate() {
                let (past, future) = state.split_at_mut(t * length);
                inputs[o.sequences + k] = &past[(t - 1) * length..];
                outs[k] = &mut future[..length];
            }
            self.forward.step(work, &inputs[..o.sequences + o.states], &mut outs[..o.states]);
        }
    }

    /// Adds what the caller gives as dL/d(state after step t).
    fn add_state_grads(
        &self,
        reads: &[&[R]],
        after: &mut [Vec<R>],
        t: usize,
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        for (k, after) in after.iter_mut().enumerate() {
            let mut add = |operand: Option<usize>, at: usize| {
                if let Some(operand) = operand {
                    let grad = &reads[operand][at..at + length];
                    for (a, g) in after[..length].iter_mut().zip(grad) {
                        *a = *a + *g;
                    }
                }
            };
            if t + 1 == o.time_steps {
                add(self.grads[self.outputs + k], start);
            }
            add(self.grads[self.outputs + o.states + k], t * o.elements + start);
        }
    }

    fn run_tile(
        &self,
        reads: &[&[R]],
        writes: &[Option<Shared<'_, R>>; MOST],
        history: &mut [R],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let mut scratch = self.scratch.get();
        let Scratch {
            forward,
            backward,
            params,
            after,
            before,
            step,
            sums,
        } = &mut *scratch;
        o.hold(
            reads,
            start,
            length,
            params,
            [(&self.forward, &mut *forward), (&self.backward, &mut *backward)],
        );
        let history = &mut history[..o.states * o.time_steps * length];
        self.recompute(reads, forward, history, (start, length));
        for block in after.iter_mut().chain(sums.iter_mut()) {
            block[..length].fill(R::ZERO);
        }
        for t in (0..o.time_steps).rev() {
            self.add_state_grads(reads, after, t, (start, length));
            let mut inputs: [&[R]; MOST] = [&[]; MOST];
            let mut count = 0;
            for k in 0..o.sequences {
                let at = o.at(k, t, start);
                inputs[count] = &reads[k][at..at + length];
                count += 1;
            }
            for state in history.chunks(o.time_steps * length) {
                inputs[count] = &state[t * length..(t + 1) * length];
                count += 1;
            }
            for operand in self.grads[..self.outputs].iter().flatten() {
                let at = t * o.elements + start;
                inputs[count] = &reads[*operand][at..at + length];
                count += 1;
            }
            for grad in after.iter() {
                inputs[count] = &grad[..length];
                count += 1;
            }

            let (step_inputs, step_params) = step.split_at_mut(o.sequences);
            let mut outs: [&mut [R]; MOST] = std::array::from_fn(|_| Default::default());
            let mut results = 0;
            for (k, block) in step_inputs.iter_mut().enumerate().filter(|(k, _)| self.wanted_inputs[*k]) {
                outs[results] = match &writes[k] {
                    // SAFETY: tiles are disjoint at every step.
                    Some(write) if !o.constant[k] => unsafe { write.range(t * o.elements + start, length) },
                    _ => &mut block[..length],
                };
                results += 1;
            }
            let wanted = step_params.iter_mut().zip(&self.wanted_params).filter(|(_, w)| **w);
            for block in before.iter_mut().chain(wanted.map(|(block, _)| block)) {
                outs[results] = &mut block[..length];
                results += 1;
            }
            self.backward.step(backward, &inputs[..count], &mut outs[..results]);
            self.add_sums(step, sums, length);
            std::mem::swap(after, before);
        }
        self.store(writes, after, sums, (start, length));
    }

    fn add_sums(&self, step: &[Vec<R>], sums: &mut [Vec<R>], length: usize) {
        let constant = self.operands.constant.iter().zip(&self.wanted_inputs).map(|(c, w)| *c && *w);
        let summed = constant.chain(self.wanted_params.iter().copied());
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
        writes: &[Option<Shared<'_, R>>; MOST],
        initial: &[Vec<R>],
        sums: &[Vec<R>],
        (start, length): (usize, usize),
    ) {
        let o = &self.operands;
        let (inputs, params) = sums.split_at(o.sequences);
        let constant = inputs.iter().enumerate().filter(|(k, _)| o.constant[*k]);
        let states = initial.iter().enumerate().map(|(k, b)| (o.sequences + k, b));
        let params = params.iter().enumerate().map(|(k, b)| (o.sequences + o.states + k, b));
        for (k, block) in constant.chain(states).chain(params) {
            if let Some(write) = &writes[k] {
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
        let per_thread = workspace.len() / this.threads.max(1);
        let history = Shared::new(workspace);
        (0..elements.div_ceil(this.tile)).into_par_iter().for_each(|k| {
            let thread = rayon::current_thread_index().unwrap_or(0) % this.threads.max(1);
            // SAFETY: each thread of the pool has its own piece.
            let words = unsafe { history.range(thread * per_thread, per_thread) };
            let start = k * this.tile;
            let length = this.tile.min(elements - start);
            this.run_tile(&values, &shared, R::from_words(words), (start, length));
        });
        Ok(())
    }
}
