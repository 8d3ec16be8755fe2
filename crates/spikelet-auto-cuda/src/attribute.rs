//! Attributes of kernels, as values that can be compared.

/// The value of an attribute; see [`Kernel::check_attributes`](super::Kernel::check_attributes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Yes or no.
    Flag(bool),
    /// A name or a text.
    Text(String),
}

from_values!(Attribute: bool => Flag, String => Text, &str => Text);

impl From<super::Dtype> for Attribute {
    fn from(dtype: super::Dtype) -> Self {
        Self::Text(dtype.name().to_string())
    }
}
