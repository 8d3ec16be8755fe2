//! Host tensors as bytes.

use spikelet_graph::DType;
use spikelet_graph::op::{HostTensor, HostTensorMut};

fn raw<T>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers without padding; any byte of them may be read.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), std::mem::size_of_val(values)) }
}

fn raw_mut<T>(values: &mut [T]) -> &mut [u8] {
    let bytes = std::mem::size_of_val(values);
    // SAFETY: plain numbers without padding, for which every bit pattern is valid.
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

/// The element type and the bytes of a host tensor that is to be filled.
pub(crate) fn of_mut<'a>(values: HostTensorMut<'a>) -> (DType, &'a mut [u8]) {
    match values {
        HostTensorMut::F32(v) => (DType::F32, raw_mut(v)),
        HostTensorMut::F64(v) => (DType::F64, raw_mut(v)),
        HostTensorMut::F16(v) => (DType::F16, raw_mut(v)),
        HostTensorMut::BF16(v) => (DType::BF16, raw_mut(v)),
        HostTensorMut::I64(v) => (DType::I64, raw_mut(v)),
    }
}
