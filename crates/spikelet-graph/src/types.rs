//! Element types and shapes.

pub use spikelet_expr::DType;
use std::fmt;

/// Element type and shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The elements.
    pub dtype: DType,
    /// The axes, slowest first. A scalar has none.
    pub shape: Vec<usize>,
}

impl TensorType {
    /// A type of this element type and shape.
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>) -> Self {
        Self {
            dtype,
            shape: shape.into(),
        }
    }

    /// The type with another length of an axis.
    ///
    /// # Panics
    /// When it does not have the axis.
    #[must_use]
    pub fn with_length(&self, axis: usize, length: usize) -> Self {
        let mut ty = self.clone();
        ty.shape[axis] = length;
        ty
    }

    /// The number of elements; `usize::MAX` for more.
    pub fn len(&self) -> usize {
        elements(&self.shape)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All axes but the last, folded into rows, and the last: the matrix view of a tensor.
    pub fn rows_and_columns(&self) -> (usize, usize) {
        match self.shape.split_last() {
            Some((&columns, rest)) => (elements(rest), columns),
            None => (1, 1),
        }
    }

    /// The bytes that the elements occupy; `usize::MAX` for more.
    pub fn bytes(&self) -> usize {
        if self.dtype == DType::Bits {
            let (rows, columns) = self.rows_and_columns();
            return rows.saturating_mul(columns.div_ceil(64)).saturating_mul(8);
        }
        self.len().saturating_mul(self.dtype.size_in_bytes())
    }
}

/// The product of the axes; `usize::MAX` for more.
pub(crate) fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |a, &n| a.saturating_mul(n))
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, ShapeText(&self.shape))
    }
}

/// Prints a shape as `[50, 256, 784]`.
#[derive(Clone, Copy, Debug)]
pub struct ShapeText<'a>(pub &'a [usize]);

impl fmt::Display for ShapeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (k, n) in self.0.iter().enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            write!(f, "{comma}{n}")?;
        }
        f.write_str("]")
    }
}

/// The shape that two shapes broadcast to, aligned at the last axis; `None` if they do not fit.
///
/// ```
/// use spikelet_graph::broadcast;
/// assert_eq!(broadcast(&[8, 1, 3], &[4, 3]), Some(vec![8, 4, 3]));
/// assert_eq!(broadcast(&[2], &[3]), None);
/// ```
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at =
        |s: &[usize], k: usize| -> usize { (k + s.len()).checked_sub(rank).map_or(1, |i| s[i]) };
    (0..rank)
        .map(|k| match (at(a, k), at(b, k)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// Row-major strides of a dense tensor, in elements.
///
/// ```
/// use spikelet_graph::dense_strides;
/// assert_eq!(dense_strides(&[8, 4, 3]), [12, 3, 1]);
/// ```
pub fn dense_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k];
    }
    strides
}

/// Row-major strides of `shape` seen as `target`, zero along every broadcast axis; `None` if it
/// does not broadcast to `target`.
///
/// ```
/// use spikelet_graph::broadcast_strides;
/// assert_eq!(broadcast_strides(&[4, 1], &[8, 4, 3]), Some(vec![0, 1, 0]));
/// assert_eq!(broadcast_strides(&[8, 4, 3], &[4, 3]), None);
/// ```
pub fn broadcast_strides(shape: &[usize], target: &[usize]) -> Option<Vec<usize>> {
    if broadcast(shape, target).as_deref() != Some(target) {
        return None;
    }
    let offset = target.len() - shape.len();
    let mut strides = vec![0; target.len()];
    let mut step = 1_usize;
    for k in (0..shape.len()).rev() {
        if shape[k] != 1 {
            strides[offset + k] = step;
        }
        step = step.checked_mul(shape[k].max(1))?;
    }
    Some(strides)
}
