//! Arrays of numpy as tensors, and back.

use super::error::invalid;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use spikelet::graph::{Data, Tensor};

/// The elements of an array of numpy, copied, row-major.
#[derive(Clone, Debug)]
pub(super) enum Values {
    F32(Vec<f32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
}

/// An array of numpy, copied.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// The elements of an array, copied, row-major.
pub(super) fn values_of<T: numpy::Element + Copy>(
    array: &Bound<'_, PyArrayDyn<T>>,
) -> PyResult<Vec<T>> {
    if !(array.data() as usize).is_multiple_of(align_of::<T>()) {
        return Err(invalid(
            "array",
            "its memory is not aligned, as that of fields of structured arrays",
            "copy it first",
        ));
    }
    let read = array.try_readonly().map_err(|_| {
        invalid(
            "array",
            "it is being written to",
            "copy it first, or wait for the other thread",
        )
    })?;
    let array = read.as_array();
    Ok(match array.as_slice() {
        Some(values) => values.to_vec(),
        None => array.iter().copied().collect(),
    })
}

impl Array {
    /// Copies an array of float32, int64 or uint8. The Python side converts other arrays.
    pub fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(array) = array.cast::<PyArrayDyn<f32>>() {
            return Ok(Self {
                shape: array.shape().to_vec(),
                values: Values::F32(values_of(array)?),
            });
        }
        if let Ok(array) = array.cast::<PyArrayDyn<i64>>() {
            return Ok(Self {
                shape: array.shape().to_vec(),
                values: Values::I64(values_of(array)?),
            });
        }
        if let Ok(array) = array.cast::<PyArrayDyn<u8>>() {
            return Ok(Self {
                shape: array.shape().to_vec(),
                values: Values::U8(values_of(array)?),
            });
        }
        let given = array.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "array: {given} was given\n  help: give a numpy array of float32, int64 or uint8"
        )))
    }

    /// The tensor; bytes become f32.
    pub fn into_tensor(self) -> Tensor {
        let data = match self.values {
            Values::F32(values) => Data::F32(values),
            Values::I64(values) => Data::I64(values),
            Values::U8(values) => Data::F32(values.into_iter().map(f32::from).collect()),
        };
        Tensor {
            shape: self.shape,
            data,
        }
    }

    /// The integers; an error for other arrays.
    pub fn into_i64(self, what: &str) -> PyResult<Vec<i64>> {
        match self.values {
            Values::I64(values) => Ok(values),
            Values::U8(values) => Ok(values.into_iter().map(i64::from).collect()),
            Values::F32(_) => Err(invalid(what, "they are float32", "give integers")),
        }
    }
}

/// Whether no element is infinite or NaN.
pub(super) fn is_finite(array: &Array) -> bool {
    match &array.values {
        Values::F32(values) => values.iter().all(|value| value.is_finite()),
        Values::I64(_) | Values::U8(_) => true,
    }
}

/// An array of numpy with these elements.
pub(super) fn numpy_of<'py, T: numpy::Element>(
    py: Python<'py>,
    shape: &[usize],
    values: Vec<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, values);
    Ok(flat.reshape(shape.to_vec())?.into_any())
}

/// An array of numpy with the elements of a tensor; 16-bit numbers become float32.
pub(super) fn from_tensor(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let Tensor { shape, data } = tensor;
    match data {
        Data::F32(values) => numpy_of(py, &shape, values),
        Data::F64(values) => numpy_of(py, &shape, values),
        Data::I64(values) => numpy_of(py, &shape, values),
        Data::F16(values) => numpy_of(
            py,
            &shape,
            values.into_iter().map(f32::from).collect::<Vec<_>>(),
        ),
        Data::BF16(values) => numpy_of(
            py,
            &shape,
            values.into_iter().map(f32::from).collect::<Vec<_>>(),
        ),
    }
}
