//! Element types, shapes and host tensors.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point: references and gradient checks.
    F64,
    /// 64-bit integers: labels, counters.
    I64,
    /// Binary values, one bit each; the last axis is padded to whole 64-bit words.
    Bits,
}

impl DType {
    /// Whether it is one of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I64 => "i64",
            Self::Bits => "bits",
        })
    }
}

/// Element type and shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The elements.
    pub dtype: DType,
    /// The axes, slowest first. A scalar has none.
    pub shape: Vec<usize>,
}

impl TensorType {
    /// A type from its parts.
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>) -> Self {
        Self {
            dtype,
            shape: shape.into(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All axes but the last, folded into rows, and the last: the matrix view of a tensor.
    pub fn rows_and_columns(&self) -> (usize, usize) {
        match self.shape.split_last() {
            Some((&columns, rest)) => (rest.iter().product(), columns),
            None => (1, 1),
        }
    }

    /// The bytes that the elements occupy.
    pub fn bytes(&self) -> usize {
        match self.dtype {
            DType::F32 => 4 * self.len(),
            DType::F64 | DType::I64 => 8 * self.len(),
            DType::Bits => {
                let (rows, columns) = self.rows_and_columns();
                8 * rows * columns.div_ceil(64)
            }
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, ShapeText(&self.shape))
    }
}

/// Prints a shape as `[50, 256, 784]`.
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

/// Row-major strides of `shape` seen as `target`, zero along every broadcast axis.
pub fn broadcast_strides(shape: &[usize], target: &[usize]) -> Vec<usize> {
    let offset = target.len() - shape.len();
    let mut strides = vec![0; target.len()];
    let mut step = 1;
    for k in (0..shape.len()).rev() {
        if shape[k] != 1 {
            strides[offset + k] = step;
        }
        step *= shape[k];
    }
    strides
}

/// The elements of a host tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 32-bit floating point.
    F32(Vec<f32>),
    /// 64-bit floating point.
    F64(Vec<f64>),
    /// 64-bit integers.
    I64(Vec<i64>),
}

/// A tensor in host memory, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The axes, slowest first.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Data,
}

impl Tensor {
    /// An f32 tensor.
    ///
    /// # Panics
    /// When the number of values is not that of the shape.
    pub fn f32(shape: impl Into<Vec<usize>>, values: impl Into<Vec<f32>>) -> Self {
        Self::checked(shape.into(), Data::F32(values.into()))
    }

    /// An f64 tensor.
    ///
    /// # Panics
    /// When the number of values is not that of the shape.
    pub fn f64(shape: impl Into<Vec<usize>>, values: impl Into<Vec<f64>>) -> Self {
        Self::checked(shape.into(), Data::F64(values.into()))
    }

    /// An i64 tensor.
    ///
    /// # Panics
    /// When the number of values is not that of the shape.
    pub fn i64(shape: impl Into<Vec<usize>>, values: impl Into<Vec<i64>>) -> Self {
        Self::checked(shape.into(), Data::I64(values.into()))
    }

    /// A tensor of zeros.
    pub fn zeros(ty: &TensorType) -> Self {
        let n = ty.len();
        let data = match ty.dtype {
            DType::F32 | DType::Bits => Data::F32(vec![0.0; n]),
            DType::F64 => Data::F64(vec![0.0; n]),
            DType::I64 => Data::I64(vec![0; n]),
        };
        Self {
            shape: ty.shape.clone(),
            data,
        }
    }

    fn checked(shape: Vec<usize>, data: Data) -> Self {
        let tensor = Self { shape, data };
        let expected: usize = tensor.shape.iter().product();
        assert_eq!(
            tensor.len(),
            expected,
            "shape {} holds {expected} values",
            ShapeText(&tensor.shape)
        );
        tensor
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::F32(v) => v.len(),
            Data::F64(v) => v.len(),
            Data::I64(v) => v.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element type and shape.
    pub fn ty(&self) -> TensorType {
        let dtype = match &self.data {
            Data::F32(_) => DType::F32,
            Data::F64(_) => DType::F64,
            Data::I64(_) => DType::I64,
        };
        TensorType::new(dtype, self.shape.clone())
    }

    /// The elements as f32; `None` if they are of another type.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.data {
            Data::F32(v) => Some(v),
            _ => None,
        }
    }

    /// The elements converted to f64, whatever their type.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Data::F64(v) => v.clone(),
            Data::I64(v) => v.iter().map(|&x| x as f64).collect(),
        }
    }

    /// The same values as another floating-point type; integers stay integers.
    pub fn cast(&self, dtype: DType) -> Self {
        let data = match (&self.data, dtype) {
            (Data::I64(_), _) => self.data.clone(),
            (_, DType::F64) => Data::F64(self.to_f64()),
            _ => Data::F32(self.to_f64().into_iter().map(|x| x as f32).collect()),
        };
        Self {
            shape: self.shape.clone(),
            data,
        }
    }
}
