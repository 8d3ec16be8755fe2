//! Tensors in a GPU's memory, to call kernels with.

use super::element::{Element, Number};
use super::{AutoCudaError, gather};
use spikelet_cuda::Cuda;
use spikelet_cuda::kernel::RawBuffer;
use spikelet_graph::{Backend, ShapeText};
use std::fmt;

/// A tensor in a GPU's memory.
///
/// Clones and [transposed](CudaTensor::transpose) views share the memory.
///
/// ```no_run
/// use spikelet_cuda::Cuda;
/// use spikelet_auto_cuda::CudaTensor;
/// let gpu = Cuda::new(0)?;
/// let x = CudaTensor::new(&gpu, [2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let turned = x.transpose(0, 1)?;
/// assert_eq!(turned.shape(), [3, 2]);
/// assert!(!turned.is_contiguous());
/// assert_eq!(turned.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CudaTensor {
    pub(super) memory: RawBuffer,
    element: Element,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl CudaTensor {
    /// A tensor of these values, in the order of their indices, the last one fastest.
    ///
    /// # Errors
    /// If there are more or fewer values than the shape has, or not enough memory.
    pub fn new<T: Number>(
        cuda: &Cuda,
        shape: impl Into<Vec<usize>>,
        values: &[T],
    ) -> Result<Self, AutoCudaError> {
        let shape = shape.into();
        if elements(&shape) != Some(values.len()) {
            return Err(AutoCudaError::Values {
                shape: ShapeText(&shape).to_string(),
                given: values.len(),
            });
        }
        let tensor = Self::uninitialized(cuda, T::ELEMENT, shape)?;
        tensor.memory.upload(values)?;
        Ok(tensor)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn zeros(
        cuda: &Cuda,
        element: Element,
        shape: impl Into<Vec<usize>>,
    ) -> Result<Self, AutoCudaError> {
        let tensor = Self::uninitialized(cuda, element, shape.into())?;
        tensor.memory.clear()?;
        Ok(tensor)
    }

    pub(super) fn uninitialized(
        cuda: &Cuda,
        element: Element,
        shape: Vec<usize>,
    ) -> Result<Self, AutoCudaError> {
        let text = ShapeText(&shape).to_string();
        let bytes = elements(&shape).and_then(|count| count.checked_mul(element.bytes()));
        let Some(bytes) = bytes else {
            return Err(AutoCudaError::Shape { shape: text });
        };
        let what = format!("a tensor of {element}{text}");
        Ok(Self {
            memory: RawBuffer::new(cuda, bytes, &what)?,
            element,
            strides: contiguous_strides(&shape),
            shape,
        })
    }

    /// The element type.
    pub fn element(&self) -> Element {
        self.element
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// For each axis, the distance of neighboring indices in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the GPU, counted from 0.
    pub fn device(&self) -> usize {
        self.memory.cuda().ordinal()
    }

    /// Whether the elements are contiguous, in the order of their indices.
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    /// The same memory with two axes exchanged.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self, AutoCudaError> {
        if a.max(b) >= self.shape.len() {
            return Err(AutoCudaError::Axis {
                axis: a.max(b),
                shape: ShapeText(&self.shape).to_string(),
            });
        }
        let mut view = self.clone();
        view.shape.swap(a, b);
        view.strides.swap(a, b);
        Ok(view)
    }

    /// A contiguous copy; the tensor itself if it is contiguous.
    ///
    /// # Errors
    /// If there is not enough memory, or the device fails.
    pub fn contiguous(&self) -> Result<Self, AutoCudaError> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        gather::contiguous(self)
    }

    /// The values, in the order of their indices, after all kernels that were started.
    ///
    /// # Errors
    /// If the tensor has another element type, or the device fails.
    pub fn to_vec<T: Number>(&self) -> Result<Vec<T>, AutoCudaError> {
        if T::ELEMENT != self.element {
            return Err(AutoCudaError::Element {
                element: self.element,
                asked: T::ELEMENT,
            });
        }
        let tensor = self.contiguous()?;
        let mut values = vec![T::default(); self.len()];
        tensor.memory.download(&mut values)?;
        Ok(values)
    }
}

impl fmt::Debug for CudaTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.memory.cuda().name();
        write!(f, "{}{} on {device}", self.element, ShapeText(&self.shape))
    }
}

/// The number of elements; `None` if it overflows.
fn elements(shape: &[usize]) -> Option<usize> {
    let product = |count: usize, n: &usize| count.checked_mul(*n);
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1, product)
}

fn contiguous_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        // The strides of an empty tensor are not used.
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
    }
    strides
}

/// Whether elements are contiguous; an axis of size one may have any stride.
pub(super) fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let expected = contiguous_strides(shape);
    let axes = shape.iter().zip(strides).zip(&expected);
    axes.into_iter()
        .all(|((n, stride), own)| *n == 1 || stride == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_determine_whether_elements_are_contiguous() {
        assert_eq!(contiguous_strides(&[2, 3, 4]), [12, 4, 1]);
        assert!(contiguous_strides(&[]).is_empty());
        assert!(is_contiguous(&[2, 3], &[3, 1]));
        assert!(!is_contiguous(&[3, 2], &[1, 3]));
        assert!(is_contiguous(&[1, 3], &[7, 1]));
        assert!(is_contiguous(&[3, 1], &[1, 3]));
        assert!(is_contiguous(&[0, 3], &[1, 0]));
        assert!(is_contiguous(&[], &[]));
    }

    #[test]
    fn the_number_of_elements_does_not_overflow() {
        assert_eq!(elements(&[usize::MAX, 2]), None);
        assert_eq!(elements(&[usize::MAX, 2, 0]), Some(0));
        assert_eq!(elements(&[]), Some(1));
    }
}
