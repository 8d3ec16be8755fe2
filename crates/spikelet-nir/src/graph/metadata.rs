//! Metadata of nodes and graphs.

use std::collections::BTreeMap;

use spikelet_weights::Tensor;

/// Metadata by name; a value may be a group of metadata.
pub type Metadata = BTreeMap<String, MetadataValue>;

/// A value of metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A text.
    Text(String),
    /// An array of texts.
    Texts {
        /// The sizes of the axes.
        shape: Vec<usize>,
        /// The texts in C order.
        values: Vec<String>,
    },
    /// A number, a truth value or an array of them.
    Tensor(Tensor),
    /// Metadata by name.
    Group(Metadata),
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Tensor> for MetadataValue {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}
