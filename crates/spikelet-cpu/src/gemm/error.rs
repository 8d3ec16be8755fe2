//! Errors of the choice of the matrix library.

use super::GemmChoice;

/// The matrix library cannot be chosen or loaded.
///
/// `Clone`, because the library is chosen once and its failure is returned on every call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// `SPIKELET_GEMM` has an unknown value.
    #[error("unknown SPIKELET_GEMM `{given}`; expected auto, gemm, mkl, openblas or ordered")]
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
