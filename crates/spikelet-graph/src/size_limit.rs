//! The largest size of a tensor.

use crate::error::{InvalidOp, invalid};
use crate::types::{DType, TensorType};

/// The largest number of elements of a tensor: with every element type it then has at most `isize::MAX`
/// bytes, also as bits, whose rows are padded to words of 8 bytes.
const MAX_ELEMENTS: usize = isize::MAX as usize / 8;

impl TensorType {
    /// Whether a graph can have such a tensor: its elements are not the bytes of data sets, and its axes without those of length 0 multiply
    /// to at most `isize::MAX / 8` elements, so that no offset in it wraps. `operation` is what the
    /// error names.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the product is larger, or for [`DType::U8`].
    ///
    /// ```
    /// use spikelet_graph::{DType, TensorType};
    /// assert!(TensorType::new(DType::F32, [1 << 20, 0]).check("allocate").is_ok());
    /// assert!(TensorType::new(DType::F32, [1 << 40, 1 << 40]).check("allocate").is_err());
    /// ```
    pub fn check(&self, operation: &str) -> crate::Result<()> {
        let named = |error: InvalidOp| error.at("", operation, std::slice::from_ref(self));
        self.check_size().map_err(named)
    }

    /// As [`TensorType::check`], for the shape rules of operations.
    pub(crate) fn check_size(&self) -> Result<(), InvalidOp> {
        if self.dtype == DType::U8 {
            return invalid!("{self} has elements of data sets"; "use f32, to which the bytes of a batch are converted");
        }
        let product = |a: usize, n: &usize| a.checked_mul((*n).max(1));
        let elements = self.shape.iter().try_fold(1, product);
        if elements.is_some_and(|n| n <= MAX_ELEMENTS) {
            return Ok(());
        }
        invalid!("{self} has more elements than memory can have, {MAX_ELEMENTS}";
            "make the axes shorter")
    }
}
