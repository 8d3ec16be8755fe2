//! Matrices in the order in which the kernel reads them.
//!
//! A panel has two vectors of columns, row after row; the last panel of few columns has one. Its unused columns are zeros.

use super::GemmElement;
use super::operand::Strided;
use crate::parallel;
use crate::transpose::transpose_tile;
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;
use std::ops::Range;

/// Columns of the widest panel.
const WIDEST: usize = 32;

/// The width of a panel in those of a narrow one.
const NARROW: usize = 2;

/// From as many rows of A on B is packed even if it is contiguous along its rows.
const READERS: usize = 96;

/// The columns of a panel, and its width with padding.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) count: usize,
    pub(super) width: usize,
}

impl Panel {
    /// The panel that starts at a column of `end`: the last one is narrow if its columns are few.
    #[inline(always)]
    pub(super) fn of(column: usize, end: usize, width: usize) -> Self {
        let count = width.min(end - column);
        Self {
            count,
            width: match count <= width / NARROW {
                true => width / NARROW,
                false => width,
            },
        }
    }

    /// Whether the panel is read where it is.
    #[inline(always)]
    pub(super) fn in_place(self, strides: (usize, usize), rows: usize) -> bool {
        strides.1 == 1 && rows < READERS && self.count == self.width
    }
}

/// Columns of a panel.
pub(super) fn panel_width<T: GemmElement>() -> usize {
    struct Width<T>(PhantomData<T>);
    impl<T: GemmElement> WithSimd for Width<T> {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            match T::lanes::<S>() {
                1 => 8,
                lanes => NARROW * lanes,
            }
        }
    }
    Arch::new().dispatch(Width::<T>(PhantomData))
}

/// The most elements of a packed matrix of `rows` × `columns`.
pub(crate) fn packed_elements(rows: usize, columns: usize) -> usize {
    let columns = columns.checked_next_multiple_of(WIDEST);
    columns.map_or(usize::MAX, |columns| columns.saturating_mul(rows))
}

/// Packs a matrix of `rows` × `columns` whose rows lie at `row(l)`, contiguous.
pub(crate) fn pack_rows<'a, T: GemmElement>(
    row: impl Fn(usize) -> &'a [T] + Sync + Send,
    size: (usize, usize),
    packed: &mut [T],
) {
    pack_panels(size, packed, |columns, to, width| {
        for (l, to) in to.chunks_exact_mut(width).enumerate() {
            to[..columns.len()].copy_from_slice(&row(l)[columns.clone()]);
            to[columns.len()..].fill(T::ZERO);
        }
    });
}

/// Packs a matrix of `rows` × `columns`.
pub(crate) fn pack<T: GemmElement>(
    (matrix, strides): Strided<'_, T>,
    (rows, columns): (usize, usize),
    packed: &mut [T],
) {
    pack_panels((rows, columns), packed, |columns, to, width| {
        let matrix = &matrix[columns.start * strides.1..];
        pack_panel((matrix, strides), (rows, columns.len()), to, width);
    });
}

/// Calls `fill` with the columns of every panel, its elements and its width.
fn pack_panels<T: GemmElement>(
    (rows, columns): (usize, usize),
    packed: &mut [T],
    fill: impl Fn(Range<usize>, &mut [T], usize) + Sync + Send,
) {
    let width = panel_width::<T>();
    if rows == 0 || columns == 0 {
        return;
    }
    let packed = &mut packed[..columns.next_multiple_of(width) * rows];
    parallel::for_each_chunk(packed, width * rows, |number, to| {
        let first = number * width;
        let panel = Panel::of(first, columns, width);
        let to = &mut to[..panel.width * rows];
        fill(first..first + panel.count, to, panel.width);
    });
}

/// Packs the first columns of a matrix into a panel.
#[inline(always)]
pub(super) fn pack_panel<T: GemmElement>(
    (matrix, strides): Strided<'_, T>,
    (rows, count): (usize, usize),
    to: &mut [T],
    width: usize,
) {
    let to = &mut to[..rows * width];
    match strides {
        (stride, 1) => {
            for (l, to) in to.chunks_exact_mut(width).enumerate() {
                to[..count].copy_from_slice(&matrix[l * stride..][..count]);
                to[count..].fill(T::ZERO);
            }
        }
        (1, stride) => {
            if count < width {
                to.fill(T::ZERO);
            }
            transpose_tile((matrix, stride), (count, rows), (to, width));
        }
        (down, along) => {
            for (l, to) in to.chunks_exact_mut(width).enumerate() {
                for (j, to) in to.iter_mut().enumerate() {
                    *to = match j < count {
                        true => matrix[l * down + j * along],
                        false => T::ZERO,
                    };
                }
            }
        }
    }
}

/// Panics for a slice that is too short for a packed matrix.
pub(super) fn check<T: GemmElement>((rows, columns): (usize, usize), packed: &[T]) {
    let needed = columns.next_multiple_of(panel_width::<T>()) * rows;
    assert!(
        packed.len() >= needed,
        "gemm: a packed matrix of {rows}×{columns} has {} elements instead of {needed}",
        packed.len()
    );
}
