//! Products whose rows do not depend on the number of rows.
//!
//! Single steps must give the same bits as all steps at once, so the order in which a row is summed
//! must not depend on the number of rows. Matrix libraries have special code for few rows and for
//! small products. Small weights are therefore multiplied by the loop below, which sums every row in
//! increasing order of features; with large weights, few rows are padded to as many as the library
//! treats alike.

use super::Float;
use crate::parallel;
use spikelet_expr::vectorized;

/// Weights of at most this many elements are multiplied row by row.
pub(super) const SMALL_WEIGHTS: usize = 16 * 1024;

/// The library treats products with large weights alike from this many rows on.
pub(super) const MIN_LIBRARY_ROWS: usize = 16;

/// Columns of a register tile.
const WIDTH: usize = 16;

/// Rows of a register tile.
const HEIGHT: usize = 4;

/// Rows of one task.
const TASK: usize = 64;

/// Elements of the packed weights of [`multiply`].
pub(super) fn packed_elements(n: usize, k: usize) -> usize {
    n.next_multiple_of(WIDTH).saturating_mul(k)
}

/// `c[m, n] = a[m, k] · b`, where element (l, j) of `b` lies at `l·strides.0 + j·strides.1`.
pub(super) fn multiply<R: Float>(
    (n, k): (usize, usize),
    a: &[R],
    b: &[R],
    strides: (usize, usize),
    c: &mut [R],
    packed: &mut [R],
) {
    if k == 0 {
        return c.fill(R::ZERO);
    }
    let packed = &mut packed[..packed_elements(n, k)];
    for (panel, columns) in packed.chunks_mut(WIDTH * k.max(1)).enumerate() {
        for (l, row) in columns.chunks_mut(WIDTH).enumerate() {
            for (x, to) in row.iter_mut().enumerate() {
                let j = panel * WIDTH + x;
                *to = if j < n {
                    b[l * strides.0 + j * strides.1]
                } else {
                    R::ZERO
                };
            }
        }
    }
    let packed = &*packed;
    let elements = TASK * k.max(1);
    parallel::for_each_chunk(c, TASK * n.max(1), |number, c| {
        let first = number * elements;
        let a = &a[first..(first + elements).min(a.len())];
        vectorized(
            (c, a, packed, n, k),
            #[inline(always)]
            |(c, a, packed, n, k)| task(c, a, packed, n, k),
        );
    });
}

#[inline(always)]
fn task<R: Float>(c: &mut [R], a: &[R], packed: &[R], n: usize, k: usize) {
    let rows = c.len() / n.max(1);
    for (panel, b) in packed.chunks_exact(WIDTH * k.max(1)).enumerate() {
        let first = panel * WIDTH;
        let width = WIDTH.min(n - first);
        let mut r = 0;
        while r < rows {
            let height = HEIGHT.min(rows - r);
            let mut sums = [[R::ZERO; WIDTH]; HEIGHT];
            if height == HEIGHT {
                let a: [&[R]; HEIGHT] = std::array::from_fn(|h| &a[(r + h) * k..(r + h + 1) * k]);
                for (l, b) in b.chunks_exact(WIDTH).enumerate() {
                    for h in 0..HEIGHT {
                        add(&mut sums[h], a[h][l], b);
                    }
                }
            } else {
                for h in 0..height {
                    let a = &a[(r + h) * k..(r + h + 1) * k];
                    for (l, b) in b.chunks_exact(WIDTH).enumerate() {
                        add(&mut sums[h], a[l], b);
                    }
                }
            }
            for (h, sums) in sums.iter().enumerate().take(height) {
                let at = (r + h) * n + first;
                c[at..at + width].copy_from_slice(&sums[..width]);
            }
            r += height;
        }
    }
}

#[inline(always)]
fn add<R: Float>(sums: &mut [R; WIDTH], a: R, b: &[R]) {
    let b = &b[..WIDTH];
    for x in 0..WIDTH {
        sums[x] = sums[x] + a * b[x];
    }
}
