//! Windows as rows of a matrix, and back.

use super::super::Float;
use super::window::Windows;
use spikelet_expr::vectorized;
use std::ops::Range;

/// Copies the windows of `rows` into the rows of a matrix.
pub(super) fn gather<R: Float>(
    w: &Windows,
    image: &[R],
    group: usize,
    rows: Range<usize>,
    to: &mut [R],
) {
    let length = w.window();
    for (row, to) in rows.zip(to.chunks_exact_mut(length.max(1))) {
        w.stretches(row, group, |at, length, from| match from {
            Some(from) => to[at..at + length].copy_from_slice(&image[from..from + length]),
            None => to[at..at + length].fill(R::ZERO),
        });
    }
}

/// Copies the windows of `rows` into the columns of a matrix whose rows have `width` elements: faster
/// for windows of few elements.
pub(super) fn gather_columns<R: Float>(
    w: &Windows,
    image: &[R],
    group: usize,
    rows: Range<usize>,
    to: &mut [R],
    width: usize,
) {
    let (per_group, all) = (w.per_group(), w.channels);
    let step = w.run_step() * all;
    let start = rows.start;
    w.runs(rows, |row, length, tap, (first, inside, from)| {
        for channel in 0..per_group {
            let at = (tap * per_group + channel) * width + row - start;
            let to = &mut to[at..at + length];
            to[..first].fill(R::ZERO);
            to[first + inside..].fill(R::ZERO);
            if inside == 0 {
                continue;
            }
            let from = &image[from * all + group * per_group + channel..];
            let to = &mut to[first..first + inside];
            if step == 1 {
                to.copy_from_slice(&from[..inside]);
            } else {
                for (to, from) in to.iter_mut().zip(from.iter().step_by(step)) {
                    *to = *from;
                }
            }
        }
    });
}

/// Adds the rows of a matrix to the windows of `rows` of one image.
pub(super) fn scatter<R: Float>(
    w: &Windows,
    from: &[R],
    group: usize,
    rows: Range<usize>,
    image: &mut [R],
) {
    let length = w.window();
    vectorized(
        (w, from, image),
        #[inline(always)]
        |(w, from, image)| {
            for (row, from) in rows.clone().zip(from.chunks_exact(length.max(1))) {
                w.stretches(
                    row,
                    group,
                    #[inline(always)]
                    |at, length, to| {
                        if let Some(to) = to {
                            let to = &mut image[to..to + length];
                            for (to, x) in to.iter_mut().zip(&from[at..at + length]) {
                                *to = *to + *x;
                            }
                        }
                    },
                );
            }
        },
    );
}
