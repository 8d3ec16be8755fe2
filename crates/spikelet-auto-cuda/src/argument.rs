//! What a kernel is called with.

use super::{AutoCudaError, CudaTensor, Element};
use spikelet_graph::ShapeText;
use std::collections::BTreeMap;
use std::fmt;

/// What a parameter gets in a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A tensor, for `*`; one of a single number also for `&`.
    Tensor(&'a CudaTensor),
    /// An integer, for `int` and `int &`.
    Int(i32),
    /// A number, for `float`, `half2` and references to them; a `half2` gets it twice.
    Float(f32),
}

impl Argument<'_> {
    /// Its description, without its memory.
    pub fn describe(&self) -> Description {
        match self {
            Argument::Tensor(tensor) => Description::Tensor {
                element: tensor.element(),
                shape: tensor.shape().to_vec(),
                strides: tensor.strides().to_vec(),
                device: tensor.device(),
            },
            Argument::Int(value) => Description::Int(*value),
            Argument::Float(value) => Description::Float(*value),
        }
    }
}

impl<'a> From<&'a CudaTensor> for Argument<'a> {
    fn from(tensor: &'a CudaTensor) -> Self {
        Argument::Tensor(tensor)
    }
}

from_values!(Argument<'_>: i32 => Int, f32 => Float);

/// An argument without its memory, for the checks of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Description {
    /// A tensor.
    Tensor {
        /// Its element type.
        element: Element,
        /// The size of each axis.
        shape: Vec<usize>,
        /// For each axis, the distance of neighboring indices in elements.
        strides: Vec<usize>,
        /// The index of the GPU.
        device: usize,
    },
    /// An integer.
    Int(i32),
    /// A number.
    Float(f32),
}

/// The arguments of a call by their names.
pub type Described<'a> = BTreeMap<&'a str, Description>;

impl Description {
    /// The number of elements of a tensor.
    pub fn len(&self) -> Option<usize> {
        match self {
            Description::Tensor { shape, .. } => Some(count(shape)),
            Description::Int(_) | Description::Float(_) => None,
        }
    }

    /// Whether it is a tensor without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

/// The number of elements of a shape.
pub(super) fn count(shape: &[usize]) -> usize {
    let product = |count: usize, n: &usize| count.saturating_mul(*n);
    shape.iter().fold(1, product)
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Description::Tensor { element, shape, .. } => {
                write!(f, "a tensor {element}{}", ShapeText(shape))
            }
            Description::Int(value) => write!(f, "the integer {value}"),
            Description::Float(value) => write!(f, "the number {value}"),
        }
    }
}

/// The arguments by their names.
///
/// # Errors
/// If a name is given twice.
pub fn describe<'a>(
    kernel: &str,
    args: &[(&'a str, Argument<'_>)],
) -> Result<Described<'a>, AutoCudaError> {
    let mut described = Described::new();
    for (name, argument) in args {
        if described.insert(name, argument.describe()).is_some() {
            return Err(AutoCudaError::RepeatedArgument {
                kernel: kernel.to_string(),
                cname: name.to_string(),
            });
        }
    }
    Ok(described)
}
