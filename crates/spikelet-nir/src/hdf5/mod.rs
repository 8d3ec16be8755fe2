//! HDF5 as a tree of groups, texts and tensors: all that NIR needs of it.
//!
//! | file | content |
//! |---|---|
//! | `source.rs` | the bytes of a file, with a bound on how much is read |
//! | `datatype.rs` | element types of HDF5 and of [`Tensor`] |
//! | `read.rs` | a file as a tree |
//! | `write.rs` | a tree as a file |
//!
//! Source: The HDF Group, *HDF5 File Format Specification*, version 3; the crate `hdf5-pure` reads and writes it.

mod datatype;
mod read;
mod source;
mod write;

use std::collections::BTreeMap;

use spikelet_weights::Tensor;

pub(crate) use read::{Root, read_root};
pub(crate) use write::write;

/// The members of a group, by name.
pub(crate) type Members = BTreeMap<String, Item>;

/// An object of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Group(Members),
    Text(Text),
    Tensor(Tensor),
    /// A dataset of a type that NIR does not have, in words.
    Unsupported(String),
}

/// Strings of any shape, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub shape: Vec<usize>,
    pub values: Vec<String>,
}

impl Text {
    /// A single string.
    pub fn scalar(value: impl Into<String>) -> Self {
        Self {
            shape: vec![],
            values: vec![value.into()],
        }
    }
}

impl Item {
    /// What the object is, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Group(_) => "a group".into(),
            Self::Text(text) if text.shape.is_empty() => "a string".into(),
            Self::Text(text) => format!("strings of shape {:?}", text.shape),
            Self::Tensor(tensor) if tensor.shape().is_empty() => {
                format!("a number ({})", tensor.dtype())
            }
            Self::Tensor(tensor) => {
                format!("numbers ({}) of shape {:?}", tensor.dtype(), tensor.shape())
            }
            Self::Unsupported(what) => what.clone(),
        }
    }
}
