//! What can be wrong with a request for random numbers.

use thiserror::Error;

/// Why a slice could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RandomError {
    /// The probabilities and the output do not belong together.
    #[error(
        "{probabilities} probabilities need an output of length {expected}, this one has {given}; \
         pass slices of the same row"
    )]
    Length {
        /// Number of probabilities.
        probabilities: usize,
        /// Length that the output has to have: floats, or 64-bit words of packed bits.
        expected: usize,
        /// Length that it has.
        given: usize,
    },
    /// Packed bits start in the middle of a group of four elements.
    #[error(
        "packed bits start at a multiple of 4 elements, not at element {first_element}; \
         start at element {} and drop the first bits", first_element / 4 * 4
    )]
    Unaligned {
        /// Number of the first element.
        first_element: u64,
    },
}
