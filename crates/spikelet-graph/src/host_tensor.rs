//! Views of tensors in host memory, for custom operations and copies to and from devices.

use crate::error::InvalidOp;
use crate::tensor::{Data, Tensor};
use crate::types::DType;
use half::{bf16, f16};

/// A tensor in host memory, borrowed: the values of an input, or an operand of a custom operation.
///
/// ```
/// use spikelet_graph::op::HostTensor;
/// use spikelet_graph::{DType, Tensor};
/// assert_eq!(HostTensor::from(&[0.5, 1.0]).dtype(), DType::F32);
/// assert_eq!(HostTensor::from(&vec![0, 2]).dtype(), DType::I64);
/// assert_eq!(HostTensor::from(&Tensor::f64([1], [0.5])).dtype(), DType::F64);
/// ```
#[derive(Debug)]
pub enum HostTensor<'a> {
    /// 32-bit floating point.
    F32(&'a [f32]),
    /// 64-bit floating point.
    F64(&'a [f64]),
    /// 16-bit floating point, IEEE 754.
    F16(&'a [f16]),
    /// 16-bit floating point with the exponent of f32.
    BF16(&'a [bf16]),
    /// 64-bit integers.
    I64(&'a [i64]),
}

/// A tensor in host memory that a custom operation writes.
#[derive(Debug)]
pub enum HostTensorMut<'a> {
    /// 32-bit floating point.
    F32(&'a mut [f32]),
    /// 64-bit floating point.
    F64(&'a mut [f64]),
    /// 16-bit floating point, IEEE 754.
    F16(&'a mut [f16]),
    /// 16-bit floating point with the exponent of f32.
    BF16(&'a mut [bf16]),
    /// 64-bit integers.
    I64(&'a mut [i64]),
}

impl<'a> From<&'a Tensor> for HostTensor<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        match &tensor.data {
            Data::F32(v) => Self::F32(v),
            Data::F64(v) => Self::F64(v),
            Data::F16(v) => Self::F16(v),
            Data::BF16(v) => Self::BF16(v),
            Data::I64(v) => Self::I64(v),
        }
    }
}

/// Slices, vectors and arrays of the elements. Only f32 and i64 convert, so that literals have a type: `&[0.5, 1.0]` is f32 and
/// `&[0, 2]` is i64.
macro_rules! from_elements {
    ($($element:ty => $variant:ident),*) => {$(
        impl<'a> From<&'a [$element]> for HostTensor<'a> {
            fn from(values: &'a [$element]) -> Self {
                Self::$variant(values)
            }
        }

        impl<'a> From<&&'a [$element]> for HostTensor<'a> {
            fn from(values: &&'a [$element]) -> Self {
                Self::$variant(values)
            }
        }

        impl<'a> From<&'a Vec<$element>> for HostTensor<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                Self::$variant(values)
            }
        }

        impl<'a, const N: usize> From<&'a [$element; N]> for HostTensor<'a> {
            fn from(values: &'a [$element; N]) -> Self {
                Self::$variant(values)
            }
        }
    )*};
}

from_elements!(f32 => F32, i64 => I64);

impl<'a> From<&'a mut Tensor> for HostTensorMut<'a> {
    fn from(tensor: &'a mut Tensor) -> Self {
        match &mut tensor.data {
            Data::F32(v) => Self::F32(v),
            Data::F64(v) => Self::F64(v),
            Data::F16(v) => Self::F16(v),
            Data::BF16(v) => Self::BF16(v),
            Data::I64(v) => Self::I64(v),
        }
    }
}

impl HostTensor<'_> {
    /// The elements' type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::F16(_) => DType::F16,
            Self::BF16(_) => DType::BF16,
            Self::I64(_) => DType::I64,
        }
    }

    /// The elements of an f32 tensor.
    ///
    /// # Errors
    /// When the elements have another type.
    pub fn f32(&self) -> Result<&[f32], InvalidOp> {
        match self {
            Self::F32(values) => Ok(values),
            other => Err(not_f32("reads", other.dtype())),
        }
    }
}

impl HostTensorMut<'_> {
    /// The elements' type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::F16(_) => DType::F16,
            Self::BF16(_) => DType::BF16,
            Self::I64(_) => DType::I64,
        }
    }

    /// The elements of an f32 tensor, to be written.
    ///
    /// # Errors
    /// When the elements have another type.
    pub fn f32(&mut self) -> Result<&mut [f32], InvalidOp> {
        match self {
            Self::F32(values) => Ok(values),
            other => Err(not_f32("writes", other.dtype())),
        }
    }
}

fn not_f32(does: &str, given: DType) -> InvalidOp {
    InvalidOp::new(
        format!("it {does} f32 on the CPU, the tensor is {given}"),
        "cast it to f32 before the operation",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_another_type_are_refused_with_its_name() {
        let mut x = Tensor::f32([2], [1.0, 2.0]);
        assert_eq!(HostTensor::from(&x).f32().unwrap(), [1.0, 2.0]);
        HostTensorMut::from(&mut x).f32().unwrap()[0] = 3.0;
        assert_eq!(x.to_f64(), [3.0, 2.0]);
        let mut labels = Tensor::i64([1], [7]);
        let error = HostTensor::from(&labels).f32().unwrap_err();
        assert_eq!(
            error.to_string(),
            "it reads f32 on the CPU, the tensor is i64; cast it to f32 before the operation"
        );
        let error = HostTensorMut::from(&mut labels).f32().unwrap_err();
        assert!(error.to_string().starts_with("it writes f32"));
    }
}
