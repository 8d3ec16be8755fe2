//! Transposition of matrices.

use crate::parallel;
use spikelet_expr::vectorized;

/// Edge of the square blocks: 16 `f32` fill a line of the cache.
pub(crate) const EDGE: usize = 16;

/// Writes the transpose of a matrix of `rows` × `columns` to the first `rows` columns of `to`, whose rows have `stride`
/// elements; the other columns are set to `padding`.
pub(crate) fn transpose<T: Copy + Send + Sync>(
    from: &[T],
    (rows, columns): (usize, usize),
    (to, stride): (&mut [T], usize),
    padding: T,
) {
    let to = &mut to[..columns * stride];
    parallel::for_each_chunk(to, EDGE * stride, |band, to| {
        let count = to.len() / stride;
        let from = &from[(band * EDGE).min(from.len())..];
        transpose_block((from, columns), (rows, count), (&mut *to, stride));
        for to in to.chunks_exact_mut(stride) {
            to[rows..].fill(padding);
        }
    });
}

/// As [`transpose_tile`], with the instructions of the processor.
pub(crate) fn transpose_block<T: Copy>(
    from: (&[T], usize),
    size: (usize, usize),
    to: (&mut [T], usize),
) {
    vectorized(
        (from, size, to),
        #[inline(always)]
        |(from, size, to)| transpose_tile(from, size, to),
    );
}

/// As [`transpose`], in the calling thread, of a part of a matrix whose rows have `from_stride` elements. The other
/// columns of `to` remain.
#[inline(always)]
pub(crate) fn transpose_tile<T: Copy>(
    (from, from_stride): (&[T], usize),
    (rows, columns): (usize, usize),
    (to, to_stride): (&mut [T], usize),
) {
    let Some(any) = from.first() else { return };
    for row in (0..rows).step_by(EDGE) {
        for column in (0..columns).step_by(EDGE) {
            let (height, width) = (EDGE.min(rows - row), EDGE.min(columns - column));
            // Through a block of fixed size, whose loops the compiler unrolls if it is full.
            let mut block = [[*any; EDGE]; EDGE];
            let line = |i: usize| &from[(row + i) * from_stride + column..][..width];
            if (height, width) == (EDGE, EDGE) {
                for (i, to) in block.iter_mut().enumerate() {
                    to.copy_from_slice(&line(i)[..EDGE]);
                }
                for j in 0..EDGE {
                    let to = &mut to[(column + j) * to_stride + row..][..EDGE];
                    for i in 0..EDGE {
                        to[i] = block[i][j];
                    }
                }
                continue;
            }
            for (i, to) in block.iter_mut().enumerate().take(height) {
                to[..width].copy_from_slice(line(i));
            }
            for j in 0..width {
                let to = &mut to[(column + j) * to_stride + row..][..height];
                for (to, line) in to.iter_mut().zip(&block) {
                    *to = line[j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_moves_across_the_diagonal_and_the_padding_is_zero() {
        for (rows, columns) in [(1, 1), (3, 50), (16, 16), (33, 17), (196, 784)] {
            let from: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
            for stride in [rows, rows + 5] {
                let mut to = vec![f32::NAN; columns * stride];
                transpose(&from, (rows, columns), (&mut to, stride), 0.0);
                for (j, line) in to.chunks(stride).enumerate() {
                    for (i, &value) in line.iter().enumerate() {
                        let expected = match i < rows {
                            true => from[i * columns + j],
                            false => 0.0,
                        };
                        assert_eq!(value, expected, "{rows}×{columns} ({j}, {i})");
                    }
                }
            }
        }
    }
}
