//! Sizes of kernels, strides and padding.

/// A size for each spatial axis, or one for all.
///
/// Files have both forms, and keep the one that they have: a number of rank 0, or an array with an element per axis.
///
/// ```
/// use spikelet_nir::Sizes;
///
/// assert_eq!(Sizes::All(2).axes::<2>(), Some([2, 2]));
/// assert_eq!(Sizes::Each(vec![2, 1]).axes(), Some([2, 1]));
/// assert_eq!(Sizes::Each(vec![2, 1]).axes::<1>(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// The same size for all axes.
    All(i64),
    /// A size for each axis.
    Each(Vec<i64>),
}

impl Sizes {
    /// The sizes of N axes; `None` if another number is given.
    #[must_use]
    pub fn axes<const N: usize>(&self) -> Option<[i64; N]> {
        match self {
            Self::All(size) => Some([*size; N]),
            Self::Each(sizes) => sizes.as_slice().try_into().ok(),
        }
    }
}

/// The padding of a convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Zeros before and behind each axis.
    Sizes(Sizes),
    /// As many zeros as keep the size; the odd one is behind. The stride is 1.
    Same,
    /// None.
    Valid,
}
