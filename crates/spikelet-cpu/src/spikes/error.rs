//! Errors of the spike kernels.

/// A slice does not match the sizes passed with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpikeError {
    /// The length of a slice differs from the product of the sizes.
    #[error("spikes: `{slice}` is {shape}, {expected} elements; the slice has {given}")]
    Length {
        /// The argument.
        slice: &'static str,
        /// Its shape, symbolically.
        shape: &'static str,
        /// Elements of that shape.
        expected: usize,
        /// Elements in the slice.
        given: usize,
    },
    /// The scratch slice is too short.
    #[error("spikes: the scratch slice needs {needed} words of 64 bits, it has {given}")]
    Scratch {
        /// Words required.
        needed: usize,
        /// Words in the slice.
        given: usize,
    },
    /// A size is too small.
    #[error("spikes: {what} is {given}; it must be at least {least}")]
    Size {
        /// The size.
        what: &'static str,
        /// Its value.
        given: usize,
        /// The minimum.
        least: usize,
    },
}

/// Rejects a slice whose length differs from its shape's.
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
