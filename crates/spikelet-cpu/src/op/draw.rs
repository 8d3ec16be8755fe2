//! Random draws, indexed by element: the partition into pieces does not affect them.

use super::{BLOCK, CHUNK, CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult, Types};
use crate::broadcast::Broadcast;
use crate::memory::{Element, SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use spikelet_graph::op::{Distribution, Draw};
use spikelet_random::{ActiveGroups, Stream};

struct DrawKernel<R> {
    op: Draw,
    /// Elements of one time step, or of the result if there is no time axis.
    step: usize,
    steps: usize,
    /// The broadcast of the probabilities to one time step, and the stride of steps.
    probabilities: Broadcast,
    time_stride: usize,
    scratch: PerThread<DrawScratch<R>>,
}

/// The indices of the first draw.
#[derive(Clone, Copy)]
struct Start {
    step: u32,
    element: u64,
}

struct DrawScratch<R> {
    probabilities: Vec<R>,
    single: Vec<f32>,
    drawn: Vec<f32>,
    active: ActiveGroups,
}

impl CpuKernel for Draw {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let kernel = DrawKernel::<R>::new(self, &cx.types, cx.threads);
        Ok(Box::new(kernel))
    }

    fn writes_bits(&self) -> bool {
        Draw::writes_bits(self)
    }
}

impl<R: Float> DrawKernel<R> {
    fn new(op: &Draw, types: &Types, threads: usize) -> Self {
        let (steps, step_shape) = match op.shape.split_first() {
            Some((&time, rest)) if op.over_time => (time, rest.to_vec()),
            _ => (1, op.shape.clone()),
        };
        let step: usize = step_shape.iter().product();
        let p = types
            .inputs
            .get(1)
            .map(|t| t.shape.clone())
            .unwrap_or_default();
        let (own_time, p_step) = if op.over_time && p.len() == op.shape.len() {
            (p[0], p[1..].to_vec())
        } else {
            (1, p)
        };
        let row = op.shape.last().copied().unwrap_or(1).max(BLOCK);
        Self {
            op: op.clone(),
            step,
            steps,
            time_stride: if own_time == 1 {
                0
            } else {
                p_step.iter().product()
            },
            probabilities: Broadcast::new(&p_step, &step_shape),
            scratch: PerThread::new(threads, || DrawScratch {
                probabilities: vec![R::ZERO; row],
                single: vec![0.0; row],
                drawn: vec![0.0; BLOCK],
                active: ActiveGroups::with_capacity(row),
            }),
        }
    }

    /// The probabilities of elements of step `t`, as f32, in which draws compare.
    fn gather(&self, p: &[R], t: usize, start: usize, length: usize, scratch: &mut DrawScratch<R>) {
        let values = &mut scratch.probabilities[..length];
        self.probabilities
            .gather(&p[t * self.time_stride..], start, values);
        for (single, p) in scratch.single.iter_mut().zip(values) {
            *single = p.to_f64() as f32;
        }
    }

    fn draw(&self, stream: Stream, start_at: Start, p: &[R], out: &mut [R]) {
        let pieces = self.step.div_ceil(CHUNK);
        let out = SharedSlice::new(out);
        parallel::for_each(self.steps * pieces, |k| {
            let (t, piece) = (k / pieces, k % pieces);
            let time = start_at.step.wrapping_add(t as u32);
            let end = ((piece + 1) * CHUNK).min(self.step);
            let mut scratch = self.scratch.get();
            let mut start = piece * CHUNK;
            while start < end {
                let length = BLOCK.min(end - start);
                let first = start_at.element.wrapping_add(start as u64);
                if self.op.distribution == Distribution::Bernoulli {
                    self.gather(p, t, start, length, &mut scratch);
                }
                let DrawScratch { single, drawn, .. } = &mut *scratch;
                let drawn = &mut drawn[..length];
                match self.op.distribution {
                    Distribution::Uniform => stream.fill_uniform(time, first, drawn),
                    Distribution::Normal => stream.fill_normal(time, first, drawn),
                    Distribution::Bernoulli => stream
                        .fill_bernoulli(time, first, &single[..length], drawn)
                        .expect("both slices have one length"),
                }
                // SAFETY: steps and pieces are disjoint.
                let to = unsafe { out.range(t * self.step + start, length) };
                for (to, drawn) in to.iter_mut().zip(&*drawn) {
                    *to = R::from_f64(f64::from(*drawn));
                }
                start += length;
            }
        });
    }

    /// Rows of bits. Probabilities that are the same at every step are searched once for those above 0.
    fn draw_bits(&self, stream: Stream, start_at: Start, p: &[R], out: &mut [u64]) {
        let row = self.op.shape.last().copied().unwrap_or(1);
        let words = row.div_ceil(64);
        let rows = self.step / row;
        let out = SharedSlice::new(out);
        parallel::for_each(rows, |r| {
            let mut scratch = self.scratch.get();
            for t in 0..self.steps {
                if t == 0 || self.time_stride != 0 {
                    self.gather(p, t, r * row, row, &mut scratch);
                    let DrawScratch { single, active, .. } = &mut *scratch;
                    active.assign(&single[..row]);
                }
                // SAFETY: rows of all steps are disjoint.
                let to = unsafe { out.range((t * rows + r) * words, words) };
                let time = start_at.step.wrapping_add(t as u32);
                let first = start_at.element.wrapping_add((r * row) as u64);
                let DrawScratch { single, active, .. } = &*scratch;
                // Scattered groups cost slightly more each, so a mostly active row is drawn in order.
                let done = if 5 * active.active() > row {
                    stream.fill_bernoulli_bits(time, first, &single[..row], to)
                } else {
                    active.fill_bernoulli_bits(&stream, time, first, to)
                };
                done.expect("a row consists of full words and starts at a full group");
            }
        });
    }
}

impl<R: Float> Kernel for DrawKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let state = i64::of(&reads[0]);
        let stream = Stream {
            seed: state[0] as u64,
            id: self.op.stream,
            step: state[1] as u32,
        };
        let first_step = if self.op.over_time {
            (state[2] as u32).wrapping_add(self.op.first_step)
        } else {
            0
        };
        let start_at = Start {
            step: first_step,
            element: (state[3] as u64).wrapping_mul(self.op.per_image as u64),
        };
        let p = reads.get(1).map_or(&[][..], |p| R::of(p));
        match &mut writes[0] {
            ViewMut::Bits(bits) => self.draw_bits(stream, start_at, p, bits),
            write => self.draw(stream, start_at, p, R::of_mut(write)),
        }
        Ok(())
    }
}
