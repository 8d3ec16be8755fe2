//! Sizes and strides of operands, checked once.

use std::ffi::c_int;

/// A matrix inside a slice, with the strides of its rows and columns in elements: `(k, 1)` is a
/// row-major m×k matrix, `(1, m)` a column-major one (that is, the transpose of a row-major k×m
/// matrix).
pub(crate) type Strided<'a, T> = (&'a [T], (usize, usize));

/// A matrix inside a slice: element (i, j) lies at `i·row_stride + j·col_stride`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixLayout {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_stride: usize,
    pub(super) col_stride: usize,
}

impl MatrixLayout {
    pub(super) fn new(
        (rows, cols): (usize, usize),
        (row_stride, col_stride): (usize, usize),
    ) -> Self {
        Self {
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }

    /// Panics for a slice of `len` elements that this matrix would exceed.
    pub(super) fn check(self, operand: &str, len: usize) {
        // A reach above isize::MAX is rejected as well: pointer offsets are signed.
        let needed = self.reach().filter(|&n| isize::try_from(n).is_ok());
        assert!(
            needed.is_some_and(|needed| needed <= len),
            "gemm: operand {operand} is {self:?} and exceeds its slice of {len} elements"
        );
    }

    /// Elements from the first to the last of the matrix, both included.
    fn reach(self) -> Option<usize> {
        if self.rows == 0 || self.cols == 0 {
            return Some(0);
        }
        let down = (self.rows - 1).checked_mul(self.row_stride)?;
        let along = (self.cols - 1).checked_mul(self.col_stride)?;
        down.checked_add(along)?.checked_add(1)
    }

    /// Offset of element (row, col), which `check` has shown to lie inside.
    pub(super) fn offset(self, row: usize, col: usize) -> usize {
        row * self.row_stride + col * self.col_stride
    }

    /// The matrix as a BLAS operand; `None` unless one of the strides is one.
    pub(super) fn for_blas(self) -> Option<BlasOperand> {
        let int = |value: usize| c_int::try_from(value.max(1)).ok();
        let (rows, cols) = (int(self.rows)?, int(self.cols)?);
        // The stride along a dimension of size one is never used.
        let row_stride = if self.rows <= 1 {
            cols
        } else {
            int(self.row_stride)?
        };
        let col_stride = if self.cols <= 1 {
            rows
        } else {
            int(self.col_stride)?
        };
        let unit = |stride: usize, size: usize| stride == 1 || size <= 1;
        if unit(self.col_stride, self.cols) && row_stride >= cols {
            Some(BlasOperand {
                transposed: false,
                leading: row_stride,
            })
        } else if unit(self.row_stride, self.rows) && col_stride >= rows {
            Some(BlasOperand {
                transposed: true,
                leading: col_stride,
            })
        } else {
            None
        }
    }
}

/// A matrix as BLAS describes it: row-major, optionally transposed, with a leading dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlasOperand {
    pub(super) transposed: bool,
    pub(super) leading: c_int,
}
