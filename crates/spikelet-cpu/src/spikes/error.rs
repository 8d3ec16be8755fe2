//! What can go wrong with spikes.

/// A slice does not fit the sizes that were given with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpikeError {
    /// A slice has another length than the sizes demand.
    #[error(
        "spikes: `{slice}` is {shape} and holds {expected} elements, the slice given has {given}"
    )]
    Length {
        /// The argument.
        slice: &'static str,
        /// Its shape in words.
        shape: &'static str,
        /// Elements that the shape demands.
        expected: usize,
        /// Elements in the slice.
        given: usize,
    },
    /// Scratch memory is smaller than the function for its size says.
    #[error("spikes: the scratch slice needs {needed} words of 64 bits, the one given has {given}")]
    Scratch {
        /// Words that are needed.
        needed: usize,
        /// Words in the slice.
        given: usize,
    },
    /// A size is zero, or the sizes multiply to more than memory can hold.
    #[error("spikes: {what} is {given}; it must be at least {least} and small enough for memory")]
    Size {
        /// The size.
        what: &'static str,
        /// Its value.
        given: usize,
        /// The least value.
        least: usize,
    },
}

/// Refuses a slice of another length than its shape has.
pub(super) fn check(
    slice: &'static str,
    shape: &'static str,
    sizes: &[usize],
    given: usize,
) -> Result<(), SpikeError> {
    let expected = sizes
        .iter()
        .try_fold(1usize, |product, &size| product.checked_mul(size))
        .unwrap_or(usize::MAX);
    if given == expected {
        return Ok(());
    }
    Err(SpikeError::Length {
        slice,
        shape,
        expected,
        given,
    })
}
