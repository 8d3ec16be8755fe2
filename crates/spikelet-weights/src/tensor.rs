//! Tensors in memory: a type, a shape and little-endian bytes.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::error::{ErrorKind, Result};

/// A contiguous tensor in C order.
///
/// The elements stay as the file has them, so that what is read and written again has the same bits. Two tensors are
/// equal if type, shape and bits are.
///
/// ```
/// use spikelet_weights::{Dtype, Tensor};
///
/// let weight = Tensor::from_f32(&[2, 3], &[0.5, -1.0, 2.0, 0.25, 1.0, 1.0])?;
/// assert_eq!((weight.dtype(), weight.shape()), (Dtype::F32, &[2, 3][..]));
/// assert_eq!(weight.to_f64()[1], -1.0);
/// # Ok::<(), spikelet_weights::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The number of elements of a shape; `None` if their bytes cannot be counted.
#[must_use]
pub fn element_count(shape: &[usize], dtype: Dtype) -> Option<usize> {
    let product = |n: usize, &size: &usize| n.checked_mul(size);
    let len = shape.iter().try_fold(1, product)?;
    len.checked_mul(dtype.bytes())?;
    Some(len)
}

impl Tensor {
    /// A tensor of little-endian bytes.
    ///
    /// # Errors
    /// [`ErrorKind::TensorLength`] if the shape needs another number of bytes.
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) -> Result<Self> {
        let expected = element_count(&shape, dtype).map(|len| len * dtype.bytes());
        if expected != Some(bytes.len()) {
            return Err(ErrorKind::TensorLength {
                dtype,
                shape,
                bytes: bytes.len(),
            }
            .into());
        }
        Ok(Self {
            dtype,
            shape,
            bytes,
        })
    }

    /// A tensor of F32.
    ///
    /// # Errors
    /// [`ErrorKind::TensorLength`] if the shape has another number of elements.
    pub fn from_f32(shape: &[usize], values: &[f32]) -> Result<Self> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        Self::new(Dtype::F32, shape.to_vec(), bytes.collect())
    }

    /// A tensor of F64.
    ///
    /// # Errors
    /// [`ErrorKind::TensorLength`] if the shape has another number of elements.
    pub fn from_f64(shape: &[usize], values: &[f64]) -> Result<Self> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        Self::new(Dtype::F64, shape.to_vec(), bytes.collect())
    }

    /// A tensor of I64.
    ///
    /// # Errors
    /// [`ErrorKind::TensorLength`] if the shape has another number of elements.
    pub fn from_i64(shape: &[usize], values: &[i64]) -> Result<Self> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        Self::new(Dtype::I64, shape.to_vec(), bytes.collect())
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The sizes of the axes; empty for a single number.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, little-endian, in C order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements, little-endian, in C order.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.bytes()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The elements as F64; integers beyond 2^53 are rounded.
    #[must_use]
    pub fn to_f64(&self) -> Vec<f64> {
        self.iter_f64().collect()
    }

    /// The elements as F32, rounded.
    #[must_use]
    pub fn to_f32(&self) -> Vec<f32> {
        match self.dtype {
            Dtype::F32 => self.elements(f32::from_le_bytes).collect(),
            _ => self.iter_f64().map(|value| value as f32).collect(),
        }
    }

    /// The elements of a tensor of integers or truth values; `None` for other types and for numbers beyond I64.
    #[must_use]
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        Some(match self.dtype {
            Dtype::Bool | Dtype::U8 => self.elements(|[byte]| i64::from(byte)).collect(),
            Dtype::I8 => self
                .elements(|[byte]| i64::from(byte.cast_signed()))
                .collect(),
            Dtype::U16 => self
                .elements(|bytes| i64::from(u16::from_le_bytes(bytes)))
                .collect(),
            Dtype::I16 => self
                .elements(|bytes| i64::from(i16::from_le_bytes(bytes)))
                .collect(),
            Dtype::U32 => self
                .elements(|bytes| i64::from(u32::from_le_bytes(bytes)))
                .collect(),
            Dtype::I32 => self
                .elements(|bytes| i64::from(i32::from_le_bytes(bytes)))
                .collect(),
            Dtype::I64 => self.elements(i64::from_le_bytes).collect(),
            Dtype::U64 => {
                let values = self.elements(|bytes| i64::try_from(u64::from_le_bytes(bytes)));
                values.collect::<Result<_, _>>().ok()?
            }
            Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => return None,
        })
    }

    /// The elements as F64, one after the other.
    pub fn iter_f64(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self.dtype {
            Dtype::Bool | Dtype::U8 => Box::new(self.elements(|[byte]| f64::from(byte))),
            Dtype::I8 => Box::new(self.elements(|[byte]| f64::from(byte.cast_signed()))),
            Dtype::U16 => Box::new(self.elements(|bytes| f64::from(u16::from_le_bytes(bytes)))),
            Dtype::I16 => Box::new(self.elements(|bytes| f64::from(i16::from_le_bytes(bytes)))),
            Dtype::U32 => Box::new(self.elements(|bytes| f64::from(u32::from_le_bytes(bytes)))),
            Dtype::I32 => Box::new(self.elements(|bytes| f64::from(i32::from_le_bytes(bytes)))),
            Dtype::U64 => Box::new(self.elements(|bytes| u64::from_le_bytes(bytes) as f64)),
            Dtype::I64 => Box::new(self.elements(|bytes| i64::from_le_bytes(bytes) as f64)),
            Dtype::F16 => Box::new(self.elements(|bytes| f64::from(f16::from_le_bytes(bytes)))),
            Dtype::BF16 => Box::new(self.elements(|bytes| f64::from(bf16::from_le_bytes(bytes)))),
            Dtype::F32 => Box::new(self.elements(|bytes| f64::from(f32::from_le_bytes(bytes)))),
            Dtype::F64 => Box::new(self.elements(f64::from_le_bytes)),
        }
    }

    fn elements<const N: usize, T>(&self, value: fn([u8; N]) -> T) -> impl Iterator<Item = T> {
        self.bytes.as_chunks::<N>().0.iter().copied().map(value)
    }
}

/// Reverses the bytes of each element.
pub fn swap_bytes(bytes: &mut [u8], element: usize) {
    if element > 1 {
        for element in bytes.chunks_exact_mut(element) {
            element.reverse();
        }
    }
}
