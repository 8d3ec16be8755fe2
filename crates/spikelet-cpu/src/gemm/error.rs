//! Errors of matrix products.

use super::GemmChoice;

/// A matrix product cannot be computed, or its library cannot be loaded.
///
/// `Clone`, because the library is chosen once and its failure is returned on every call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// An operand's slice is shorter than its sizes and strides reach.
    #[error(
        "gemm: operand {operand} is {rows}×{cols} with strides ({row_stride}, {col_stride}) and \
         needs {needed} elements, its slice has {len}; pass a longer slice or smaller sizes"
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
        /// Elements needed for the sizes and strides (`usize::MAX` on overflow).
        needed: usize,
        /// Elements in the slice.
        len: usize,
    },
    /// The rows of the result overlap.
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
    /// `SPIKELET_GEMM` has an unknown value.
    #[error("unknown SPIKELET_GEMM `{given}`; expected auto, gemm, mkl or openblas")]
    UnknownChoice {
        /// The value given.
        given: String,
    },
    /// A library was requested by name and cannot be loaded.
    #[error(
        "the matrix library `{choice}` cannot be loaded: {reason}; install it, or set \
         SPIKELET_GEMM=auto (the first that is found) or SPIKELET_GEMM=gemm (built in)"
    )]
    Unavailable {
        /// The library requested.
        choice: GemmChoice,
        /// The files that were tried, each with its error.
        reason: String,
    },
}
