//! Errors of draws.

use thiserror::Error;

/// The reason why a slice could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RandomError {
    /// The lengths of the probabilities and of the output do not match.
    #[error(
        "{probabilities} probabilities need an output of length {expected}, not {given}; \
         pass slices of the same row"
    )]
    Length {
        /// Number of probabilities.
        probabilities: usize,
        /// The required length of the output: floats, or 64-bit words of packed bits.
        expected: usize,
        /// The length of the output.
        given: usize,
    },
    /// Packed bits start in the middle of a group of four elements.
    #[error(
        "packed bits have to start at a multiple of 4 elements, not at element {first_element}; \
         start at element {} and discard the first bits", first_element / 4 * 4
    )]
    Unaligned {
        /// Number of the first element.
        first_element: u64,
    },
}
