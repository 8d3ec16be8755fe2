//! Errors of the tensors of samples and batches.

use spikelet_expr::DType;

use crate::field::type_name;

/// A tensor of a sample or a batch is missing, or is not what the data set says it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// There is no tensor of this name.
    #[error(
        "no tensor `{name}`; there are: {}\n  help: use one of these names",
        if names.is_empty() { "none".into() } else { names.join(", ") }
    )]
    Missing {
        /// The requested name.
        name: String,
        /// The names of the tensors.
        names: Vec<String>,
    },
    /// A tensor has another type.
    #[error("tensor `{name}` has the type {}, expected {}\n  help: {help}", type_name(*found), type_name(*expected))]
    Element {
        /// The name.
        name: String,
        /// Its type, `None` for events.
        found: Option<DType>,
        /// The expected type, `None` for events.
        expected: Option<DType>,
        /// The remedy.
        help: &'static str,
    },
    /// The number of values is not that of the shape.
    #[error(
        "tensor `{name}` of type {} and shape {shape:?} has {}, expected {}\n  \
         help: {}",
        type_name(*dtype),
        found.map_or("columns of different lengths".into(), |found| format!("{found} values")),
        expected.map_or("fewer elements than memory has".into(), |n| format!("{n}")),
        if *dtype == Some(DType::Bits) { "rows of bits are padded to 64-bit words; use `pack_bits`" }
        else { "give as many values as the product of the shape" }
    )]
    Values {
        /// The name.
        name: String,
        /// The type of its elements, `None` for events.
        dtype: Option<DType>,
        /// Its shape.
        shape: Vec<usize>,
        /// The number of values; `None` for columns of different lengths.
        found: Option<usize>,
        /// The number of the shape; `None` if it overflows.
        expected: Option<usize>,
    },
    /// A tensor has another shape than its field, or than the samples before it.
    #[error("tensor `{name}` has the shape {found:?}, expected {expected}\n  help: {help}")]
    Shape {
        /// The name.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The expected shape.
        expected: String,
        /// The remedy.
        help: &'static str,
    },
}
