//! Products of matrices with a short side: windows of a few elements.

use super::super::Float;
use spikelet_expr::vectorized;

/// Columns of a register tile.
const WIDTH: usize = 16;

/// The operands of a product: `a` with the strides of its rows and columns, `b` with the stride
/// of its rows.
pub(super) struct Operands<'a, R> {
    pub(super) a: &'a [R],
    pub(super) a_strides: (usize, usize),
    pub(super) b: &'a [R],
    pub(super) b_stride: usize,
}

/// `c[m, n] ← a · b`, or `c + a · b`, every element summed in ascending order.
pub(super) fn multiply<R: Float>(
    (m, n, k): (usize, usize, usize),
    operands: &Operands<'_, R>,
    add: bool,
    c: &mut [R],
    c_stride: usize,
) {
    vectorized(
        (operands, c),
        #[inline(always)]
        |(o, c)| {
            let mut row = 0;
            while row < m {
                let height = m - row;
                let mut column = 0;
                while column < n {
                    let width = WIDTH.min(n - column);
                    let at = (row, column, width);
                    match (height, width) {
                        (8.., WIDTH) => block::<R, 8>(o, at, k, add, c, c_stride),
                        (4.., WIDTH) => block::<R, 4>(o, at, k, add, c, c_stride),
                        (_, WIDTH) => block::<R, 1>(o, at, k, add, c, c_stride),
                        (8.., _) => edge::<R, 8>(o, at, k, add, c, c_stride),
                        (4.., _) => edge::<R, 4>(o, at, k, add, c, c_stride),
                        _ => edge::<R, 1>(o, at, k, add, c, c_stride),
                    }
                    column += width;
                }
                row += match height {
                    8.. => 8,
                    4.. => 4,
                    _ => 1,
                };
            }
        },
    );
}

#[inline(always)]
fn block<R: Float, const H: usize>(
    o: &Operands<'_, R>,
    (row, column, _): (usize, usize, usize),
    k: usize,
    add: bool,
    c: &mut [R],
    c_stride: usize,
) {
    let mut sums = [[R::ZERO; WIDTH]; H];
    if add {
        for (h, sums) in sums.iter_mut().enumerate() {
            sums.copy_from_slice(&c[(row + h) * c_stride + column..][..WIDTH]);
        }
    }
    let (down, along) = o.a_strides;
    for l in 0..k {
        let b = &o.b[l * o.b_stride + column..][..WIDTH];
        let a = &o.a[row * down + l * along..][..(H - 1) * down + 1];
        for h in 0..H {
            let a = a[h * down];
            for x in 0..WIDTH {
                sums[h][x] = sums[h][x] + a * b[x];
            }
        }
    }
    for (h, sums) in sums.iter().enumerate() {
        c[(row + h) * c_stride + column..][..WIDTH].copy_from_slice(sums);
    }
}

/// As [`block`], for the last columns.
#[inline(always)]
fn edge<R: Float, const H: usize>(
    o: &Operands<'_, R>,
    (row, column, width): (usize, usize, usize),
    k: usize,
    add: bool,
    c: &mut [R],
    c_stride: usize,
) {
    let (down, along) = o.a_strides;
    for h in row..row + H {
        let c = &mut c[h * c_stride + column..][..width];
        if !add {
            c.fill(R::ZERO);
        }
        for l in 0..k {
            let a = o.a[h * down + l * along];
            let b = &o.b[l * o.b_stride + column..][..width];
            for (c, b) in c.iter_mut().zip(b) {
                *c = *c + a * *b;
            }
        }
    }
}
