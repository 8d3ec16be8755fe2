//! Products of rows that are mostly zeros.

use super::{Fired, listed_rows};
use crate::gemm::GemmElement;
use crate::parallel;

/// A row with more nonzero elements than this part of it is multiplied as a dense one.
const SPARSE: usize = 8;

/// Products from which on a sparse row is divided among threads: fewer take less time than to wake a thread.
const DIVIDED: usize = 1 << 16;

/// Output features of one task of a sparse row.
const TASK: usize = 64;

/// How a product continues at a row that is not mostly zeros.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenseRow {
    Stop,
    Skip,
}

/// Products of rows that are mostly zeros, some rows after the other.
pub(crate) struct SparseRows {
    nonzero: Fired,
    /// Rows of one list.
    rows: usize,
}

impl SparseRows {
    pub(crate) fn new(m: usize, k: usize) -> Self {
        let rows = listed_rows(m, k);
        Self {
            nonzero: Fired::new(rows, k),
            rows,
        }
    }

    /// Overwrites the sparse rows of `c`, and returns whether all are. The sums are in ascending order of the nonzero
    /// elements. The bits of a row do not depend on other rows.
    pub(crate) fn multiply<R: GemmElement>(
        &mut self,
        a: &[R],
        b: (&[R], (usize, usize)),
        (n, k): (usize, usize),
        c: &mut [R],
        at_dense: DenseRow,
    ) -> bool {
        let mut all = true;
        for (a, c) in a.chunks(self.rows * k).zip(c.chunks_mut(self.rows * n)) {
            self.nonzero.set(a, k);
            let rows = a.chunks_exact(k).zip(self.nonzero.rows(a.len() / k));
            for (c, (a, nonzero)) in c.chunks_exact_mut(n).zip(rows) {
                if nonzero.len() <= k / SPARSE {
                    multiply_sparse((a, nonzero), b, c);
                    continue;
                }
                all = false;
                if at_dense == DenseRow::Stop {
                    return all;
                }
            }
        }
        all
    }
}

/// One row: `b` with the strides of its rows and columns.
fn multiply_sparse<R: GemmElement>(
    (a, nonzero): (&[R], &[u32]),
    (b, strides): (&[R], (usize, usize)),
    c: &mut [R],
) {
    let work = nonzero.len() * c.len();
    let columns = |first: usize, c: &mut [R]| {
        for (j, c) in (first..).zip(c) {
            let at = |l: usize| b[l * strides.0 + j * strides.1];
            let products = nonzero.iter().map(|l| a[*l as usize] * at(*l as usize));
            *c = products.fold(R::ZERO, |sum, product| sum + product);
        }
    };
    match work < DIVIDED {
        true => columns(0, c),
        false => parallel::for_each_chunk(c, TASK, |task, c| columns(task * TASK, c)),
    }
}
