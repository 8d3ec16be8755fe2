//! What can go wrong in a matrix product.

use super::GemmChoice;

/// Why a matrix product was not computed, or its library not found.
///
/// It is `Clone`, because the choice of library is made once and its failure told to everybody
/// who asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// An operand's slice is shorter than its sizes and strides reach.
    #[error(
        "gemm: operand {operand} is {rows}×{cols} with strides ({row_stride}, {col_stride}) and \
         needs {needed} elements, its slice has {len}; pass the whole matrix or smaller sizes"
    )]
    TooShort {
        /// `"a"`, `"b"` or `"c"`.
        operand: &'static str,
        /// Rows of the operand.
        rows: usize,
        /// Columns of the operand.
        cols: usize,
        /// Elements from one row to the next.
        row_stride: usize,
        /// Elements from one column to the next.
        col_stride: usize,
        /// Elements that the sizes and strides reach (`usize::MAX` if that overflows).
        needed: usize,
        /// Elements in the slice.
        len: usize,
    },
    /// The rows of the result would lie on top of each other.
    #[error(
        "gemm: the result has {cols} columns but a row stride of {row_stride}, so its rows would \
         overlap; the row stride must be at least the number of columns"
    )]
    OverlappingRows {
        /// Columns of the result.
        cols: usize,
        /// The row stride that was given.
        row_stride: usize,
    },
    /// `SPIKELET_GEMM` holds a word that means nothing here.
    #[error("SPIKELET_GEMM is `{given}`; it may be auto, gemm, mkl or openblas")]
    UnknownChoice {
        /// The word.
        given: String,
    },
    /// A library was asked for by name and cannot be used.
    #[error(
        "the matrix library `{choice}` was asked for and cannot be used: {reason}; install it, \
         or set SPIKELET_GEMM=auto (whatever is found) or SPIKELET_GEMM=gemm (built in)"
    )]
    Unavailable {
        /// The library that was asked for.
        choice: GemmChoice,
        /// What was tried and how it failed.
        reason: String,
    },
}
