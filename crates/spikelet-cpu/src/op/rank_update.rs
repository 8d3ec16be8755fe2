//! Updates of a matrix by sums of outer products. The cost is that of the rows and columns that are not 0.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{View, ViewMut};
use crate::parallel;
use crate::spikes::{Fired, listed_rows};
use spikelet_expr::vectorized;
use spikelet_graph::op::RankUpdate;

/// A row with more nonzero elements than this part of it is added completely.
const SPARSE: usize = 8;

/// Elements of changed rows from which on they are divided among threads: fewer take less time than to wake a thread.
const DIVIDED: usize = 1 << 17;

/// Rows of one task.
const TASK: usize = 16;

struct RankUpdateKernel<R> {
    bounds: Option<[R; 2]>,
    inputs: usize,
    /// The nonzero elements of the rows of each factor `b`; of one factor at a time where all of them are many.
    nonzero: Vec<Fired>,
    /// Rows of a factor that are listed at once.
    rows: usize,
    /// Whether a row of the matrix has a factor `a` that is not 0.
    active: Vec<bool>,
}

/// The rows of two factors, with the lists of the nonzero elements of `b`.
type Terms<'a, R> = (&'a [R], &'a [R], &'a Fired);

impl CpuKernel for RankUpdate {
    fn takes_in_place(&self) -> bool {
        true
    }

    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let (outputs, inputs) = cx.types.outputs[0].rows_and_columns();
        let factors = cx.types.inputs[1..].iter().skip(1).step_by(2);
        let counts: Vec<usize> = factors.map(|b| b.rows_and_columns().0).collect();
        let all = counts.iter().copied().fold(0, usize::saturating_add);
        let rows = listed_rows(all, inputs);
        let nonzero = match all <= rows {
            true => counts
                .iter()
                .map(|rows| Fired::new(*rows, inputs))
                .collect(),
            false => vec![Fired::new(rows, inputs)],
        };
        Ok(Box::new(RankUpdateKernel {
            bounds: self.bounds.map(|bounds| bounds.map(R::from_f64)),
            inputs,
            nonzero,
            rows,
            active: vec![false; outputs],
        }))
    }
}

impl<R: Float> RankUpdateKernel<R> {
    /// Adds terms to row `i` of the matrix, in their order.
    fn row<'a>(&self, terms: impl Iterator<Item = Terms<'a, R>>, i: usize, to: &mut [R]) {
        let (outputs, inputs) = (self.active.len(), self.inputs);
        for (a, b, nonzero) in terms {
            let rows = a[i..].iter().step_by(outputs);
            let rows = rows
                .zip(b.chunks_exact(inputs))
                .zip(nonzero.rows(b.len() / inputs));
            for ((a, b), columns) in rows.filter(|((a, _), _)| **a != R::ZERO) {
                if columns.len() > inputs / SPARSE {
                    add_multiple(to, *a, b);
                } else {
                    for &column in columns {
                        let column = column as usize;
                        to[column] = to[column] + *a * b[column];
                    }
                }
            }
        }
    }

    /// Changes the rows of the matrix that have a factor.
    fn rows(&self, y: &mut [R], change: impl Fn(usize, &mut [R]) + Sync + Send) {
        let inputs = self.inputs;
        let changed = self.active.iter().filter(|active| **active).count();
        let rows = |first: usize, rows: &mut [R]| {
            let rows = rows.chunks_exact_mut(inputs).zip(&self.active[first..]);
            for (i, (row, _)) in (first..).zip(rows).filter(|(_, (_, active))| **active) {
                change(i, row);
            }
        };
        match changed * inputs < DIVIDED {
            true => rows(0, y),
            false => parallel::for_each_chunk(y, TASK * inputs, |k, y| rows(k * TASK, y)),
        }
    }

    fn clamp(&self, row: &mut [R]) {
        if let Some(bounds) = self.bounds {
            clamp(row, bounds);
        }
    }
}

impl<R: Float> Kernel for RankUpdateKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let (outputs, inputs) = (self.active.len(), self.inputs);
        let y = R::of_mut(&mut writes[0]);
        if !matches!(reads[0], View::InPlace(_)) {
            y.copy_from_slice(R::of(&reads[0]));
        }
        if y.is_empty() {
            return Ok(());
        }
        let factors = reads[1..].chunks_exact(2);
        let factors = factors.map(|pair| (R::of(&pair[0]), R::of(&pair[1])));
        self.active.fill(false);
        for (a, _) in factors.clone() {
            for row in a.chunks_exact(outputs) {
                for (active, a) in self.active.iter_mut().zip(row) {
                    *active |= *a != R::ZERO;
                }
            }
        }
        let all: usize = factors.clone().map(|(_, b)| b.len() / inputs).sum();
        if all <= self.rows {
            for ((_, b), nonzero) in factors.clone().zip(&mut self.nonzero) {
                nonzero.set(b, inputs);
            }
            let this = &*self;
            this.rows(y, |i, row| {
                let terms = factors.clone().zip(&this.nonzero);
                this.row(terms.map(|((a, b), nonzero)| (a, b, nonzero)), i, row);
                this.clamp(row);
            });
            return Ok(());
        }
        // Every element is the same sum in the same order, some rows of the factors after the other.
        for (a, b) in factors {
            let parts = a.chunks(self.rows * outputs);
            for (a, b) in parts.zip(b.chunks(self.rows * inputs)) {
                self.nonzero[0].set(b, inputs);
                let this = &*self;
                this.rows(y, |i, row| {
                    this.row(std::iter::once((a, b, &this.nonzero[0])), i, row);
                });
            }
        }
        let this = &*self;
        this.rows(y, |_, row| this.clamp(row));
        Ok(())
    }
}

/// `to += a·b`
fn add_multiple<R: Float>(to: &mut [R], a: R, b: &[R]) {
    vectorized(
        (to, a, b),
        #[inline(always)]
        |(to, a, b)| {
            for (to, b) in to.iter_mut().zip(b) {
                *to = *to + a * *b;
            }
        },
    );
}

fn clamp<R: Float>(row: &mut [R], bounds: [R; 2]) {
    vectorized(
        (row, bounds),
        #[inline(always)]
        |(row, [low, high])| {
            for w in row {
                let raised = if *w < low { low } else { *w };
                *w = if raised > high { high } else { raised };
            }
        },
    );
}
