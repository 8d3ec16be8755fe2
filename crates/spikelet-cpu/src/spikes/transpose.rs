//! Transposition of `f32` matrices.

use super::error::{SpikeError, check};
use crate::parallel::for_each_chunk;

/// Edge of the square blocks: 16 `f32` fill a line of the cache.
const EDGE: usize = 16;

/// Writes the transpose of `w` [rows, cols] to `out` [cols, rows], both row-major.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn transpose(w: &[f32], rows: usize, cols: usize, out: &mut [f32]) -> Result<(), SpikeError> {
    check("out", "[cols, rows]", &[cols, rows], out.len())?;
    transpose_strided(w, rows, cols, out, rows)
}

/// Writes the transpose of `w` [rows, cols] to the first `rows` columns of `out` [cols, stride];
/// the other columns are set to zero.
///
/// With `stride = row_stride(rows)` and weights [out, in] this is the table that
/// [`forward`](super::forward) reads.
///
/// # Errors
/// [`SpikeError::Length`], or [`SpikeError::Size`] if the stride is below the number of rows.
pub fn transpose_strided(
    w: &[f32],
    rows: usize,
    cols: usize,
    out: &mut [f32],
    stride: usize,
) -> Result<(), SpikeError> {
    check("w", "[rows, cols]", &[rows, cols], w.len())?;
    check("out", "[cols, stride]", &[cols, stride], out.len())?;
    if stride < rows {
        return Err(SpikeError::Size {
            what: "the stride",
            given: stride,
            least: rows,
        });
    }
    if out.is_empty() {
        return Ok(());
    }
    for_each_chunk(out, EDGE * stride, |band, out| {
        transpose_band(w, cols, band * EDGE, out, stride, rows);
    });
    Ok(())
}

/// Up to `EDGE` rows of the result, starting at column `first` of `w`.
fn transpose_band(
    w: &[f32],
    cols: usize,
    first: usize,
    out: &mut [f32],
    stride: usize,
    rows: usize,
) {
    let width = out.len() / stride;
    for start in (0..rows).step_by(EDGE) {
        let height = EDGE.min(rows - start);
        // Through a block of fixed size, whose inner loops the compiler can unroll.
        let mut block = [[0.0f32; EDGE]; EDGE];
        for (i, line) in block.iter_mut().enumerate().take(height) {
            let at = (start + i) * cols + first;
            line[..width].copy_from_slice(&w[at..at + width]);
        }
        for (j, out) in out.chunks_exact_mut(stride).enumerate() {
            for (out, line) in out[start..start + height].iter_mut().zip(&block) {
                *out = line[j];
            }
        }
    }
    for out in out.chunks_exact_mut(stride) {
        out[rows..].fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_moves_across_the_diagonal_and_the_padding_is_zero() {
        for (rows, cols) in [(1, 1), (3, 50), (16, 16), (33, 17), (196, 784)] {
            let w: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
            for stride in [rows, rows + 5] {
                let mut out = vec![f32::NAN; cols * stride];
                transpose_strided(&w, rows, cols, &mut out, stride).unwrap();
                for (j, line) in out.chunks(stride).enumerate() {
                    for (i, &value) in line.iter().enumerate() {
                        let expected = if i < rows { w[i * cols + j] } else { 0.0 };
                        assert_eq!(value, expected, "{rows}×{cols} ({j}, {i})");
                    }
                }
            }
        }
        assert!(transpose(&[0.0; 6], 2, 3, &mut [0.0; 5]).is_err());
        assert!(transpose_strided(&[0.0; 6], 2, 3, &mut [0.0; 3], 1).is_err());
    }
}
