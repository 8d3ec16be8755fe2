//! Host tensors as bytes.

use spikelet_graph::op::{HostTensor, HostTensorMut};
use spikelet_graph::{DType, bf16, f16};

mod sealed {
    /// Not nameable outside of this crate, so that no other type becomes [`Plain`](super::Plain).
    pub trait Sealed {}
}

/// A scalar type of the host without padding, for which every bit pattern is valid: f32, f64, f16,
/// bf16, i32 and i64. It cannot be implemented for other types.
pub trait Plain: Copy + sealed::Sealed {}

macro_rules! plain {
    ($($number:ty),*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Plain for $number {}
        )*
    };
}

plain!(f32, f64, f16, bf16, i32, i64);

/// Scalars as bytes.
pub(crate) fn raw<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: scalars without padding; every byte of them may be read.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), std::mem::size_of_val(values)) }
}

/// Scalars as mutable bytes.
pub(crate) fn raw_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    let bytes = std::mem::size_of_val(values);
    // SAFETY: scalars for which every bit pattern is valid.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) }
}

/// The element type and the bytes of a host tensor.
pub(crate) fn of<'a>(values: &HostTensor<'a>) -> (DType, &'a [u8]) {
    match values {
        HostTensor::F32(v) => (DType::F32, raw(v)),
        HostTensor::F64(v) => (DType::F64, raw(v)),
        HostTensor::F16(v) => (DType::F16, raw(v)),
        HostTensor::BF16(v) => (DType::BF16, raw(v)),
        HostTensor::I64(v) => (DType::I64, raw(v)),
    }
}

/// The element type and the mutable bytes of a host tensor.
pub(crate) fn of_mut<'a>(values: HostTensorMut<'a>) -> (DType, &'a mut [u8]) {
    match values {
        HostTensorMut::F32(v) => (DType::F32, raw_mut(v)),
        HostTensorMut::F64(v) => (DType::F64, raw_mut(v)),
        HostTensorMut::F16(v) => (DType::F16, raw_mut(v)),
        HostTensorMut::BF16(v) => (DType::BF16, raw_mut(v)),
        HostTensorMut::I64(v) => (DType::I64, raw_mut(v)),
    }
}
