//! Updates of a matrix by sums of outer products. The cost is that of the rows and columns that are not 0.

use super::spike_sums::Fired;
use super::{Float, Kernel, Types};
use crate::memory::{View, ViewMut};
use crate::parallel;
use spikelet_expr::vectorized;
use spikelet_graph::op::RankUpdate;

/// A row with more nonzero elements than this part of it is added completely.
const SPARSE: usize = 8;

/// Elements of changed rows from which on they are divided among threads: fewer take less time than to wake a thread.
const DIVIDED: usize = 1 << 17;

/// Rows of one task.
const TASK: usize = 16;

pub(super) struct RankUpdateKernel<R> {
    bounds: Option<[R; 2]>,
    inputs: usize,
    /// The nonzero elements of the rows of each factor `b`.
    nonzero: Vec<Fired>,
    /// Whether a row of the matrix has a factor `a` that is not 0.
    active: Vec<bool>,
}

impl<R: Float> RankUpdateKernel<R> {
    pub(super) fn new(op: &RankUpdate, types: &Types) -> Self {
        let (outputs, inputs) = types.outputs[0].rows_and_columns();
        let factors = types.inputs[1..].iter().skip(1).step_by(2);
        let rows = factors.map(|b| b.rows_and_columns().0);
        Self {
            bounds: op.bounds.map(|bounds| bounds.map(R::from_f64)),
            inputs,
            nonzero: rows.map(|rows| Fired::new(rows, inputs)).collect(),
            active: vec![false; outputs],
        }
    }

    /// Changes row `i` of the matrix.
    fn row(&self, factors: &[View<'_>], i: usize, to: &mut [R]) {
        let (outputs, inputs) = (self.active.len(), self.inputs);
        for (pair, nonzero) in factors.chunks_exact(2).zip(&self.nonzero) {
            let (a, b) = (R::of(&pair[0]), R::of(&pair[1]));
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
        if let Some(bounds) = self.bounds {
            clamp(to, bounds);
        }
    }
}

impl<R: Float> Kernel for RankUpdateKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let (outputs, inputs) = (self.active.len(), self.inputs);
        let y = R::of_mut(&mut writes[0]);
        if !matches!(reads[0], View::InPlace(_)) {
            y.copy_from_slice(R::of(&reads[0]));
        }
        if y.is_empty() {
            return Ok(());
        }
        let factors = &reads[1..];
        self.active.fill(false);
        for (pair, nonzero) in factors.chunks_exact(2).zip(&mut self.nonzero) {
            for row in R::of(&pair[0]).chunks_exact(outputs) {
                for (active, a) in self.active.iter_mut().zip(row) {
                    *active |= *a != R::ZERO;
                }
            }
            nonzero.set(R::of(&pair[1]), inputs);
        }
        let this = &*self;
        let changed = this.active.iter().filter(|active| **active).count();
        let rows = |first: usize, rows: &mut [R]| {
            let rows = rows.chunks_exact_mut(inputs).zip(&this.active[first..]);
            for (i, (row, _)) in (first..).zip(rows).filter(|(_, (_, active))| **active) {
                this.row(factors, i, row);
            }
        };
        match changed * inputs < DIVIDED {
            true => rows(0, y),
            false => parallel::for_each_chunk(y, TASK * inputs, |k, y| rows(k * TASK, y)),
        }
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
