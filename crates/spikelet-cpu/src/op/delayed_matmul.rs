//! Products over time in which each weight acts on another time step.
//!
//! A task has one sample and a tile of time steps, transposed: the steps of a neuron are contiguous, so that a weight adds a
//! part of a row that starts at its own lag. Every element is one chain of sums in ascending order of the inputs, fused
//! where the processor can: its bits depend neither on the tiles nor on the number of time steps.

use super::{Float, Kernel, Types};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::scratch::{PerThread, Pieces};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use spikelet_graph::DType;
use spikelet_graph::op::{DelayedMatMul, DelayedSizes};
use std::marker::PhantomData;

/// Time steps of the smallest tile: a multiple of the elements of a vector.
const STEP: usize = 16;

/// Time steps of the largest tile.
const TILE: usize = 64;

/// Inputs whose rows stay in the first-level cache.
const INPUTS: usize = 48;

/// Vectors of a row that are added in registers at once.
const VECTORS: usize = 4;

pub(super) struct DelayedMatMulKernel<R> {
    lags: usize,
    sizes: DelayedSizes,
    threads: PerThread<()>,
    element: PhantomData<R>,
}

/// Time steps of a tile, padded.
fn tile(sizes: DelayedSizes) -> usize {
    sizes.steps.clamp(1, TILE).next_multiple_of(STEP)
}

/// Elements of the workspace: those of all threads, and those of each.
fn scratch(op: DelayedMatMul, sizes: DelayedSizes) -> [usize; 2] {
    let DelayedSizes {
        inputs, outputs, ..
    } = sizes;
    let (steps, shared) = (
        tile(sizes),
        inputs.saturating_mul(outputs).saturating_mul(2),
    );
    let rows = steps.saturating_add(op.lags).saturating_mul(inputs);
    let each = rows.saturating_add(steps.saturating_mul(outputs));
    [shared, each]
}

pub(super) fn workspace_words(op: DelayedMatMul, types: &Types, threads: usize) -> usize {
    let sizes = op.sizes(&types.inputs[0], &types.inputs[1]);
    let [shared, each] = scratch(op, sizes);
    let elements = shared.saturating_add(each.saturating_mul(threads.max(1)));
    match types.float() {
        DType::F64 => elements,
        _ => elements.div_ceil(2),
    }
}

impl<R: Float> DelayedMatMulKernel<R> {
    pub(super) fn new(op: DelayedMatMul, types: &Types, threads: usize) -> Self {
        Self {
            lags: op.lags,
            sizes: op.sizes(&types.inputs[0], &types.inputs[1]),
            threads: PerThread::new(threads, || ()),
            element: PhantomData,
        }
    }

    /// Transposes the weights, and converts lags to the first element of a row of the window that a weight adds.
    fn arrange(&self, weight: &[R], lag: &[R], weights: &mut [R], starts: &mut [R]) {
        let DelayedSizes {
            inputs, outputs, ..
        } = self.sizes;
        let rows = weights.par_chunks_mut(inputs);
        let rows = rows.zip(starts.par_chunks_mut(inputs)).enumerate();
        rows.for_each(|(o, (weights, starts))| {
            for (i, (to, start)) in weights.iter_mut().zip(starts).enumerate() {
                let at = i * outputs + o;
                *to = weight[at];
                let lag = (lag[at] + R::from_f64(0.5)).to_index().min(self.lags);
                *start = R::from_f64((self.lags - lag) as f64);
            }
        });
    }

    /// The windows of a sample that start with the step `first`, `[in, lags + steps]`; beyond the sequence they are zeros.
    fn window(&self, x: &[R], sample: usize, first: usize, window: &mut [R]) {
        let DelayedSizes {
            steps,
            batch,
            inputs,
            ..
        } = self.sizes;
        let length = window.len() / inputs;
        let rows = length.min(self.lags + steps - first);
        for row in 0..rows {
            let from = ((first + row) * batch + sample) * inputs;
            let to = window[row..].iter_mut().step_by(length);
            to.zip(&x[from..from + inputs]).for_each(|(to, x)| *to = *x);
        }
        for row in window.chunks_exact_mut(length) {
            row[rows..].fill(R::ZERO);
        }
    }
}

impl<R: Float> Kernel for DelayedMatMulKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let DelayedSizes {
            steps,
            batch,
            inputs,
            outputs,
        } = self.sizes;
        let [x, weight, lag] = [0, 1, 2].map(|k| R::of(&reads[k]));
        let y = R::of_mut(&mut writes[0]);
        if y.is_empty() {
            return Ok(());
        }
        if inputs == 0 {
            y.fill(R::ZERO);
            return Ok(());
        }
        let [shared, each] = scratch(DelayedMatMul { lags: self.lags }, self.sizes);
        let (weights, rest) = R::from_words(workspace).split_at_mut(shared);
        let (weights, starts) = weights.split_at_mut(shared / 2);
        self.arrange(weight, lag, weights, starts);
        let (weights, starts) = (&*weights, &*starts);
        let tile = tile(self.sizes);
        let own = Pieces::new(rest, each, &self.threads);
        let y = SharedSlice::new(y);
        let tiles = steps.div_ceil(tile);
        (0..tiles * batch).into_par_iter().for_each(|task| {
            let (sample, first) = (task / tiles, task % tiles * tile);
            own.with(|scratch| {
                let length = self.lags + tile;
                let (window, sums) = scratch.split_at_mut(inputs * length);
                let sums = &mut sums[..outputs * tile];
                self.window(x, sample, first, window);
                sums.fill(R::ZERO);
                Arch::new().dispatch(Product {
                    window,
                    weights,
                    starts,
                    sums: &mut *sums,
                    inputs,
                    length,
                    tile,
                });
                for step in 0..tile.min(steps - first) {
                    let at = ((first + step) * batch + sample) * outputs;
                    // SAFETY: a task writes the rows of its own sample and steps.
                    let to = unsafe { y.range(at, outputs) };
                    let from = sums[step..].iter().step_by(tile);
                    to.iter_mut().zip(from).for_each(|(to, sum)| *to = *sum);
                }
            });
        });
        Ok(())
    }
}

/// `sums[o, t] += Σ_i weights[o, i] · window[i, starts[o, i] + t]`
struct Product<'a, R> {
    window: &'a [R],
    weights: &'a [R],
    starts: &'a [R],
    sums: &'a mut [R],
    inputs: usize,
    length: usize,
    tile: usize,
}

impl<R: Float> WithSimd for Product<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for first in (0..self.inputs).step_by(INPUTS) {
            let range = first..(first + INPUTS).min(self.inputs);
            // Inputs that are silent in the window add nothing.
            let mut active = [0; INPUTS];
            let mut count = 0;
            for i in range {
                let row = &self.window[i * self.length..(i + 1) * self.length];
                if row.iter().any(|x| *x != R::ZERO) {
                    active[count] = i;
                    count += 1;
                }
            }
            let active = &active[..count];
            let rows = self.sums.chunks_exact_mut(self.tile);
            for (o, sums) in rows.enumerate() {
                let own = o * self.inputs..(o + 1) * self.inputs;
                let row = Row {
                    window: self.window,
                    length: self.length,
                    weights: &self.weights[own.clone()],
                    starts: &self.starts[own],
                };
                let sums = R::vectors_mut::<S>(sums).0;
                let width = self.tile / sums.len();
                let mut at = 0;
                while sums.len() - at >= VECTORS {
                    row.add::<S, VECTORS>(simd, active, at * width, &mut sums[at..at + VECTORS]);
                    at += VECTORS;
                }
                while at < sums.len() {
                    row.add::<S, 1>(simd, active, at * width, &mut sums[at..=at]);
                    at += 1;
                }
            }
        }
    }
}

/// The weights of one output.
struct Row<'a, R> {
    window: &'a [R],
    length: usize,
    weights: &'a [R],
    starts: &'a [R],
}

impl<R: Float> Row<'_, R> {
    /// Adds the inputs `active` to the vectors of the steps from `step` on.
    #[inline(always)]
    fn add<S: Simd, const V: usize>(
        &self,
        simd: S,
        active: &[usize],
        step: usize,
        sums: &mut [R::Vector<S>],
    ) {
        let mut sum = [sums[0]; V];
        sum.copy_from_slice(&sums[..V]);
        for &i in active {
            let from = i * self.length + step + self.starts[i].to_index();
            let x = R::vectors::<S>(&self.window[from..(i + 1) * self.length]).0;
            let weight = R::splat(simd, self.weights[i]);
            for (sum, x) in sum.iter_mut().zip(&x[..V]) {
                *sum = R::multiply_add(simd, weight, *x, *sum);
            }
        }
        sums.copy_from_slice(&sum);
    }
}
