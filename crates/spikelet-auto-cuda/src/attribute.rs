//! Attributes of kernels, as values that can be compared.

/// The value of an attribute; see [`Kernel::check_attributes`](super::Kernel::check_attributes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Yes or no.
    Flag(bool),
    /// A name or a text.
    Text(String),
}

impl From<bool> for Attribute {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<super::Dtype> for Attribute {
    fn from(dtype: super::Dtype) -> Self {
        Self::Text(dtype.name().to_string())
    }
}
