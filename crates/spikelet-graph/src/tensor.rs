//! Tensors in host memory.

use crate::error::{InvalidOp, Result};
use crate::types::{DType, ShapeText, TensorType, elements};
use half::{bf16, f16};
use std::collections::TryReserveError;

/// The elements of a host tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 32-bit floating point.
    F32(Vec<f32>),
    /// 64-bit floating point.
    F64(Vec<f64>),
    /// 16-bit floating point, IEEE 754.
    F16(Vec<f16>),
    /// 16-bit floating point with the exponent of f32.
    BF16(Vec<bf16>),
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
    ///
    /// # Errors
    /// When the shape exceeds the largest size of a tensor, or the host is out of memory.
    pub fn zeros(ty: &TensorType) -> Result<Self> {
        ty.check("zeros")?;
        let short = |_| {
            let problem = format!("the host cannot allocate {} bytes", ty.bytes());
            let error = InvalidOp::new(problem, "use a smaller batch or network");
            error.at("", "zeros", std::slice::from_ref(ty))
        };
        let n = ty.len();
        let data = match ty.dtype {
            DType::F32 | DType::Bits | DType::U8 => zeros(n, 0.0).map(Data::F32),
            DType::F64 => zeros(n, 0.0).map(Data::F64),
            DType::F16 => zeros(n, f16::ZERO).map(Data::F16),
            DType::BF16 => zeros(n, bf16::ZERO).map(Data::BF16),
            DType::I64 => zeros(n, 0).map(Data::I64),
        };
        Ok(Self {
            shape: ty.shape.clone(),
            data: data.map_err(short)?,
        })
    }

    fn checked(shape: Vec<usize>, data: Data) -> Self {
        let tensor = Self { shape, data };
        let expected = elements(&tensor.shape);
        let sound = tensor.ty().check("tensor");
        assert!(
            sound.is_ok() && tensor.len() == expected,
            "{} values were given for the shape {}, which has {expected} elements",
            tensor.len(),
            ShapeText(&tensor.shape)
        );
        tensor
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::F32(v) => v.len(),
            Data::F64(v) => v.len(),
            Data::F16(v) => v.len(),
            Data::BF16(v) => v.len(),
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
            Data::F16(_) => DType::F16,
            Data::BF16(_) => DType::BF16,
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

    /// The elements converted to f64.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Data::F64(v) => v.clone(),
            Data::F16(v) => v.iter().map(|x| x.to_f64()).collect(),
            Data::BF16(v) => v.iter().map(|x| x.to_f64()).collect(),
            Data::I64(v) => v.iter().map(|&x| x as f64).collect(),
        }
    }

    /// The elements cast to another floating-point type, each rounded once to the nearest, ties to
    /// even; integers are unchanged.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tensor};
    /// let x = Tensor::f32([2], [1.0, 0.1]).cast(DType::BF16);
    /// assert_eq!(x.to_f64(), [1.0, 0.10009765625]);
    /// ```
    pub fn cast(&self, dtype: DType) -> Self {
        let values = || self.to_f64().into_iter();
        let data = match (&self.data, dtype) {
            (Data::I64(_), _) => self.data.clone(),
            (_, DType::F64) => Data::F64(self.to_f64()),
            (_, DType::F16) => Data::F16(values().map(to_f16).collect()),
            (_, DType::BF16) => Data::BF16(values().map(to_bf16).collect()),
            _ => Data::F32(values().map(|x| x as f32).collect()),
        };
        Self {
            shape: self.shape.clone(),
            data,
        }
    }
}

/// Zeros; an error if they cannot be allocated.
fn zeros<T: Clone>(n: usize, zero: T) -> std::result::Result<Vec<T>, TryReserveError> {
    let mut values = vec![];
    values.try_reserve_exact(n)?;
    values.resize(n, zero);
    Ok(values)
}

/// A number rounded to a 16-bit type; unchanged for other types.
pub(crate) fn rounded(x: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => to_f16(x).to_f64(),
        DType::BF16 => to_bf16(x).to_f64(),
        DType::F32 | DType::F64 | DType::I64 | DType::Bits | DType::U8 => x,
    }
}

fn to_f16(x: f64) -> f16 {
    f16::from_f32(to_odd(x))
}

fn to_bf16(x: f64) -> bf16 {
    bf16::from_f32(to_odd(x))
}

/// `x` rounded to f32 toward zero, with the last bit set if the result is inexact (round to odd): a
/// second rounding to fewer digits then gives the result of a single rounding.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let past = f64::from(near).abs() > x.abs();
    f32::from_bits((near.to_bits() - u32::from(past)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_rounded_once() {
        // Just above the middle between 1 and its neighbor: f32 would round it to the middle.
        let tie = 1.0 + 2.0_f64.powi(-8);
        let above = tie + 2.0_f64.powi(-40);
        let cast = |x: f64, dtype| Tensor::f64([1], [x]).cast(dtype).to_f64()[0];
        assert_eq!(cast(tie, DType::BF16), 1.0);
        assert_eq!(cast(above, DType::BF16), 1.0078125);
        assert_eq!(cast(-above, DType::BF16), -1.0078125);
        let tie = 1.0 + 2.0_f64.powi(-11);
        assert_eq!(cast(tie, DType::F16), 1.0);
        assert_eq!(
            cast(tie + 2.0_f64.powi(-45), DType::F16),
            1.0 + 2.0_f64.powi(-10)
        );
        assert_eq!(cast(1e30, DType::F16), f64::INFINITY);
        assert_eq!(cast(1e300, DType::BF16), f64::INFINITY);
        assert!(cast(f64::NAN, DType::F16).is_nan());
    }
}
