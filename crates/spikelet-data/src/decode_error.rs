//! The errors of decoding images.

/// The reason for which an image cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The first bytes are those of neither format.
    #[error("neither a PNG nor a JPEG file")]
    Format,
    /// The image or its file is larger than the limits.
    #[error("{found} {unit}, more than the limit of {limit}")]
    TooLarge {
        /// The size.
        found: u64,
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// A JPEG file without its end.
    #[error("the file was not copied to its end")]
    Truncated,
    /// The decoder's error.
    #[error("{0}")]
    Damaged(String),
}
