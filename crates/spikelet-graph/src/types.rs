//! Element types and shapes.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit floating point.
    #[default]
    F32,
    /// 64-bit floating point: references and gradient checks.
    F64,
    /// 16-bit floating point, IEEE 754: 5 bits of exponent. A storage type: arithmetic
    /// on it is done in f32.
    F16,
    /// 16-bit floating point with the exponent of f32. A storage type as [`DType::F16`].
    BF16,
    /// 64-bit integers: labels, counters.
    I64,
    /// Binary values, one bit each; the last axis is padded to 64-bit words.
    Bits,
}

impl DType {
    /// All types.
    pub const ALL: [Self; 6] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::BF16,
        Self::I64,
        Self::Bits,
    ];

    /// The name, as in `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I64 => "i64",
            Self::Bits => "bits",
        }
    }

    /// Whether it is one of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::BF16)
    }

    /// Whether it is one of the 16-bit floating-point types.
    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// The bytes of one element; 0 for [`DType::Bits`], eight of which share a byte.
    ///
    /// ```
    /// use spikelet_graph::DType;
    /// assert_eq!(DType::BF16.size_in_bytes(), 2);
    /// ```
    pub fn size_in_bytes(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::I64 => 8,
            Self::Bits => 0,
        }
    }

    /// The type of arithmetic on elements of this type, and of neurons' states: f32 for the 16-bit
    /// types, otherwise the type itself.
    pub fn arithmetic(self) -> Self {
        if self.is_half() { Self::F32 } else { self }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
