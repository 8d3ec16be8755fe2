//! Products over time in which each weight acts on another time step.
//!
//! A task has one sample and a tile of time steps, transposed: the steps of a neuron are contiguous, so that a weight adds a
//! part of a row that starts at its own lag. Where only few spikes are in a tile, each adds the weights of its input, every
//! weight to the row of its own lag. Either way every element is one chain of sums in ascending order of the inputs, fused
//! where the processor can: its bits depend neither on the tiles nor on the number of time steps.

use super::{CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult, words_of};
use crate::gemm::Rounding;
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::{PerThread, Pieces};
use pulp::{Arch, Simd, WithSimd, bytemuck};
use spikelet_graph::op::{DelayedMatMul, DelayedSizes};
use std::marker::PhantomData;

/// Time steps of the smallest tile: a multiple of the elements of a vector.
const STEP: usize = 16;

/// Time steps of the largest tile.
const TILE: usize = 64;

/// Inputs whose rows stay in the first-level cache.
const INPUTS: usize = 48;

/// Elements of a tile of all inputs for one spike, from which on single spikes take less time than vectors.
const SPARSE: usize = 20;

/// The most lags for which spikes are added one by one: their sums need memory for twice as many time steps.
const SPARSE_LAGS: usize = 256;

pub(super) struct DelayedMatMulKernel<R> {
    lags: usize,
    sizes: DelayedSizes,
    /// The workspace: elements of all threads and of each, and words of lags.
    scratch: [usize; 3],
    threads: PerThread<()>,
    element: PhantomData<R>,
}

/// Time steps of a tile, padded.
fn tile(sizes: DelayedSizes) -> usize {
    sizes.steps.clamp(1, TILE).next_multiple_of(STEP)
}

fn scratch(op: DelayedMatMul, sizes: DelayedSizes) -> [usize; 3] {
    let DelayedSizes {
        inputs, outputs, ..
    } = sizes;
    let (steps, weights) = (tile(sizes), inputs.saturating_mul(outputs));
    let rows = steps.saturating_add(op.lags).saturating_mul(inputs);
    // Spikes add to rows before and behind the tile too.
    let sums = match op.lags {
        lags @ ..=SPARSE_LAGS => steps + 2 * lags,
        _ => steps,
    };
    let each = rows.saturating_add(sums.saturating_mul(outputs));
    // Two lists of u32, one word for each weight.
    [weights, each, weights]
}

impl CpuKernel for DelayedMatMul {
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let sizes = self.sizes(&cx.types.inputs[0], &cx.types.inputs[1]);
        let scratch = scratch(*self, sizes);
        let [shared, each, lags] = scratch;
        let elements = shared.saturating_add(each.saturating_mul(cx.threads.max(1)));
        let words = words_of::<R>(elements).saturating_add(lags);
        Lowered::new(words, move || {
            Ok(Box::new(DelayedMatMulKernel::<R> {
                lags: self.lags,
                sizes,
                scratch,
                threads: PerThread::new(cx.threads, || ()),
                element: PhantomData,
            }))
        })
    }
}

impl<R: Float> DelayedMatMulKernel<R> {
    /// Transposes the weights. Of each lag, `starts[o, i]` is the first element of a row of the window that the weight
    /// adds, and `places[i, o]` the element of the sums to which it adds a spike at the start of the window.
    fn arrange(
        &self,
        weight: &[R],
        lag: &[R],
        weights: &mut [R],
        starts: &mut [u32],
        places: &mut [u32],
    ) {
        let DelayedSizes {
            inputs, outputs, ..
        } = self.sizes;
        let lag = |at: usize| (lag[at] + R::from_f64(0.5)).to_index().min(self.lags);
        let starts = SharedSlice::new(starts);
        parallel::for_each_chunk(weights, inputs, |o, weights| {
            // SAFETY: rows are disjoint.
            let starts = unsafe { starts.range(o * inputs, weights.len()) };
            for (i, (to, start)) in weights.iter_mut().zip(starts).enumerate() {
                let at = i * outputs + o;
                *to = weight[at];
                *start = (self.lags - lag(at)) as u32;
            }
        });
        for (at, place) in places.iter_mut().enumerate() {
            *place = (lag(at) * outputs + at % outputs) as u32;
        }
    }

    /// Whether the values of a window are 0 and 1, with so few 1 that they are added one by one.
    fn is_sparse(&self, window: &[R], tile: usize) -> bool {
        let DelayedSizes {
            inputs, outputs, ..
        } = self.sizes;
        let rows = tile + 2 * SPARSE_LAGS;
        if self.lags > SPARSE_LAGS || rows.saturating_mul(outputs) > u32::MAX as usize {
            return false;
        }
        let (mut spikes, mut others) = (0, 0);
        for x in window {
            spikes += u32::from(*x == R::ONE);
            others += u32::from(*x != R::ONE && *x != R::ZERO);
        }
        others == 0 && spikes as usize * SPARSE <= inputs * tile
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
    ) -> RunResult {
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
        let [shared, each, lags] = self.scratch;
        let (lists, workspace) = workspace.split_at_mut(lags);
        let (starts, places) = bytemuck::cast_slice_mut(lists).split_at_mut(lags);
        let (weights, rest) = R::from_words(workspace).split_at_mut(shared);
        self.arrange(weight, lag, weights, starts, places);
        let (weights, starts, places) = (&*weights, &*starts, &*places);
        let tile = tile(self.sizes);
        let own = Pieces::new(rest, each, &self.threads);
        let y = SharedSlice::new(y);
        let tiles = steps.div_ceil(tile);
        parallel::for_each(tiles * batch, |task| {
            let (sample, first) = (task / tiles, task % tiles * tile);
            own.with(|scratch| {
                let length = self.lags + tile;
                let (window, sums) = scratch.split_at_mut(inputs * length);
                self.window(x, sample, first, window);
                let row = |step: usize| ((first + step) * batch + sample) * outputs;
                if self.is_sparse(window, tile) {
                    sums.fill(R::ZERO);
                    for (i, window) in window.chunks_exact(length).enumerate() {
                        let own = i * outputs..(i + 1) * outputs;
                        let (weight, places) = (&weight[own.clone()], &places[own]);
                        let spikes = window.iter().enumerate().filter(|(_, x)| **x != R::ZERO);
                        for (at, _) in spikes {
                            let sums = &mut sums[at * outputs..];
                            for (weight, place) in weight.iter().zip(places) {
                                let sum = &mut sums[*place as usize];
                                *sum = *sum + *weight;
                            }
                        }
                    }
                    for step in 0..tile.min(steps - first) {
                        // SAFETY: a task writes the rows of its own sample and steps.
                        let to = unsafe { y.range(row(step), outputs) };
                        let from = (self.lags + step) * outputs;
                        to.copy_from_slice(&sums[from..from + outputs]);
                    }
                    return;
                }
                let sums = &mut sums[..outputs * tile];
                sums.fill(R::ZERO);
                let product = Product {
                    window,
                    weights,
                    starts,
                    sums: &mut *sums,
                    inputs,
                    length,
                    tile,
                };
                match Rounding::of(false) {
                    Rounding::Fused => Arch::new().dispatch(Links::<R, true>(product)),
                    Rounding::Separate => Arch::new().dispatch(Links::<R, false>(product)),
                }
                for step in 0..tile.min(steps - first) {
                    // SAFETY: a task writes the rows of its own sample and steps.
                    let to = unsafe { y.range(row(step), outputs) };
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
    starts: &'a [u32],
    sums: &'a mut [R],
    inputs: usize,
    length: usize,
    tile: usize,
}

/// A product whose links are fused or not.
struct Links<'a, R, const FUSED: bool>(Product<'a, R>);

impl<R: Float, const FUSED: bool> WithSimd for Links<'_, R, FUSED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.0.run::<S, FUSED>(simd);
    }
}

impl<R: Float> Product<'_, R> {
    #[inline(always)]
    fn run<S: Simd, const FUSED: bool>(self, simd: S) {
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
                // As many as there are registers for.
                let mut at = 0;
                while at < sums.len() {
                    let (step, sums) = (at * width, &mut sums[at..]);
                    at += match sums.len() {
                        8.. => row.add::<S, FUSED, 8>(simd, active, step, sums),
                        4.. => row.add::<S, FUSED, 4>(simd, active, step, sums),
                        _ => row.add::<S, FUSED, 1>(simd, active, step, sums),
                    };
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
    starts: &'a [u32],
}

impl<R: Float> Row<'_, R> {
    /// Adds the inputs `active` to the first `V` vectors, those of the steps from `step` on; returns `V`.
    #[inline(always)]
    fn add<S: Simd, const FUSED: bool, const V: usize>(
        &self,
        simd: S,
        active: &[usize],
        step: usize,
        sums: &mut [R::Vector<S>],
    ) -> usize {
        let mut sum = [sums[0]; V];
        sum.copy_from_slice(&sums[..V]);
        for &i in active {
            let from = i * self.length + step + self.starts[i] as usize;
            let x = R::vectors::<S>(&self.window[from..(i + 1) * self.length]).0;
            let weight = R::splat(simd, self.weights[i]);
            for (sum, x) in sum.iter_mut().zip(&x[..V]) {
                *sum = R::add_product::<S, FUSED>(simd, weight, *x, *sum);
            }
        }
        sums[..V].copy_from_slice(&sum);
        V
    }
}
