//! A batch: the samples of a step, stacked.

use std::mem;
use std::sync::Arc;

use spikelet_expr::DType;

use crate::error::Result;
use crate::events::EventBatch;
use crate::field::type_name;
use crate::tensor_error::TensorError;

/// The elements of a tensor of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BatchValues {
    /// Bytes.
    U8(Vec<u8>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 32-bit floating point.
    F32(Vec<f32>),
    /// Binary values, one bit each; see [`pack_bits`](crate::pack_bits) for the layout.
    Bits(Vec<u64>),
    /// The events of all samples.
    Events(EventBatch),
}

/// One tensor of a batch, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchTensor {
    /// The size of each axis: `[N, …]`, or `[T, N, …]` for a sequence. Events have `[N]`.
    pub shape: Vec<usize>,
    /// The axis of the samples: 1 for a sequence, otherwise 0.
    pub batch_axis: usize,
    /// The elements.
    pub values: BatchValues,
}

impl BatchTensor {
    /// A tensor `[N, …]` of 32-bit floating point numbers.
    #[must_use]
    pub fn f32(shape: &[usize], values: Vec<f32>) -> Self {
        Self::new(shape, BatchValues::F32(values))
    }

    /// A tensor `[N, …]` of 64-bit integers.
    #[must_use]
    pub fn i64(shape: &[usize], values: Vec<i64>) -> Self {
        Self::new(shape, BatchValues::I64(values))
    }

    /// A tensor `[N, …]` of bytes.
    #[must_use]
    pub fn u8(shape: &[usize], values: Vec<u8>) -> Self {
        Self::new(shape, BatchValues::U8(values))
    }

    fn new(shape: &[usize], values: BatchValues) -> Self {
        Self {
            shape: shape.to_vec(),
            batch_axis: 0,
            values,
        }
    }

    /// The same values as a sequence `[T, N, …]`.
    #[must_use]
    pub fn sequence(mut self) -> Self {
        self.batch_axis = 1;
        self
    }

    /// The type of the elements; `None` for events.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        Some(match self.values {
            BatchValues::U8(_) => DType::U8,
            BatchValues::I64(_) => DType::I64,
            BatchValues::F32(_) => DType::F32,
            BatchValues::Bits(_) => DType::Bits,
            BatchValues::Events(_) => return None,
        })
    }

    /// The name of its type: that of its elements, or `events`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        type_name(self.dtype())
    }

    /// The bytes, if it is of this type.
    #[must_use]
    pub fn as_u8(&self) -> Option<&[u8]> {
        match &self.values {
            BatchValues::U8(values) => Some(values),
            _ => None,
        }
    }

    /// The integers, if it is of this type.
    #[must_use]
    pub fn as_i64(&self) -> Option<&[i64]> {
        match &self.values {
            BatchValues::I64(values) => Some(values),
            _ => None,
        }
    }

    /// The floating point numbers, if it is of this type.
    #[must_use]
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.values {
            BatchValues::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The floating point numbers, if it is of this type, to change them.
    pub fn as_f32_mut(&mut self) -> Option<&mut [f32]> {
        match &mut self.values {
            BatchValues::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The words of the binary values, if it is of this type.
    #[must_use]
    pub fn as_bits(&self) -> Option<&[u64]> {
        match &self.values {
            BatchValues::Bits(words) => Some(words),
            _ => None,
        }
    }

    /// The events, if it is of this type.
    #[must_use]
    pub fn as_events(&self) -> Option<&EventBatch> {
        match &self.values {
            BatchValues::Events(events) => Some(events),
            _ => None,
        }
    }
}

/// The samples of a step: named tensors, and the indices of the samples in the data set.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, synthetic};
///
/// let loader = DataLoader::new(synthetic::digits_of(1, 100, 10).train, LoaderConfig::default())?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// let images = batch.require("images")?;
/// assert_eq!(images.shape, [100, 1, 28, 28]);
/// assert_eq!(images.as_f32().map(<[f32]>::len), Some(100 * 28 * 28));
/// assert_eq!(batch.i64("labels")?.len(), batch.len());
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    tensors: Vec<(Arc<str>, BatchTensor)>,
    /// The index of each sample in the data set.
    pub indices: Vec<u32>,
    /// The index of the batch in the epoch, from 0, over all ranks.
    pub index_in_epoch: usize,
}

impl Batch {
    /// A batch without tensors, of samples with these indices.
    #[must_use]
    pub fn new(indices: Vec<u32>) -> Self {
        Self {
            indices,
            ..Self::default()
        }
    }

    /// A batch of `images`, `[N, channels, height, width]`, and `labels`, `[N]`, with the indices from 0.
    ///
    /// ```
    /// let batch = spikelet_data::Batch::of_images([1, 1, 2], vec![0.0, 0.5, 1.0, 0.2], vec![3, 7]);
    /// assert_eq!((batch.len(), batch.i64("labels")?), (2, &[3, 7][..]));
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    #[must_use]
    pub fn of_images(shape: [usize; 3], images: Vec<f32>, labels: Vec<i64>) -> Self {
        let [channels, height, width] = shape;
        let len = labels.len();
        Self::new((0..len as u32).collect())
            .with(
                "images",
                BatchTensor::f32(&[len, channels, height, width], images),
            )
            .with("labels", BatchTensor::i64(&[len], labels))
    }

    /// The index of the first sample in the data set; 0 without samples.
    #[must_use]
    pub fn first_index(&self) -> usize {
        self.indices.first().map_or(0, |index| *index as usize)
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there are no samples. A loader has no such batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Adds a tensor, or replaces the one of this name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Arc<str>>, tensor: BatchTensor) -> Self {
        self.insert(name, tensor);
        self
    }

    /// Adds a tensor, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, tensor: BatchTensor) {
        let name = name.into();
        match self.get_mut(&name) {
            Some(old) => *old = tensor,
            None => self.tensors.push((name, tensor)),
        }
    }

    /// Removes and returns a tensor.
    pub fn remove(&mut self, name: &str) -> Option<BatchTensor> {
        let at = self.tensors.iter().position(|(own, _)| **own == *name)?;
        Some(self.tensors.remove(at).1)
    }

    /// The tensor of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&BatchTensor> {
        let mut tensors = self.tensors.iter();
        Some(&tensors.find(|(own, _)| **own == *name)?.1)
    }

    /// The tensor of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut BatchTensor> {
        let mut tensors = self.tensors.iter_mut();
        Some(&mut tensors.find(|(own, _)| **own == *name)?.1)
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`TensorError::Missing`], with the names that there are.
    pub fn require(&self, name: &str) -> Result<&BatchTensor> {
        Ok(self.get(name).ok_or_else(|| TensorError::Missing {
            name: name.into(),
            names: self.iter().map(|(name, _)| name.into()).collect(),
        })?)
    }

    /// The names and tensors, in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BatchTensor)> {
        self.tensors.iter().map(|(name, tensor)| (&**name, tensor))
    }

    /// The values of an f32 tensor.
    ///
    /// # Errors
    /// [`TensorError::Missing`] or [`TensorError::Element`].
    pub fn f32(&self, name: &str) -> Result<&[f32]> {
        self.typed(name, DType::F32, BatchTensor::as_f32)
    }

    /// The values of an i64 tensor.
    ///
    /// # Errors
    /// [`TensorError::Missing`] or [`TensorError::Element`].
    pub fn i64(&self, name: &str) -> Result<&[i64]> {
        self.typed(name, DType::I64, BatchTensor::as_i64)
    }

    /// The values of a u8 tensor.
    ///
    /// # Errors
    /// [`TensorError::Missing`] or [`TensorError::Element`].
    pub fn u8(&self, name: &str) -> Result<&[u8]> {
        self.typed(name, DType::U8, BatchTensor::as_u8)
    }

    fn typed<'a, T: ?Sized>(
        &'a self,
        name: &str,
        expected: DType,
        values: impl Fn(&'a BatchTensor) -> Option<&'a T>,
    ) -> Result<&'a T> {
        let tensor = self.require(name)?;
        Ok(values(tensor).ok_or_else(|| TensorError::Element {
            name: name.into(),
            found: tensor.dtype(),
            expected: Some(expected),
            help: "read it with the method of its type",
        })?)
    }

    /// The bytes of all tensors.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = self.tensors.iter().map(|(_, tensor)| match &tensor.values {
            BatchValues::U8(values) => values.len(),
            BatchValues::I64(values) => size_of_val(values.as_slice()),
            BatchValues::F32(values) => size_of_val(values.as_slice()),
            BatchValues::Bits(words) => size_of_val(words.as_slice()),
            BatchValues::Events(events) => events.bytes(),
        });
        bytes.sum()
    }

    /// Takes all tensors, whose memory is used again.
    pub(crate) fn take_tensors(&mut self) -> Vec<(Arc<str>, BatchTensor)> {
        mem::take(&mut self.tensors)
    }

    /// Appends a tensor with a new name.
    pub(crate) fn push(&mut self, name: Arc<str>, tensor: BatchTensor) {
        self.tensors.push((name, tensor));
    }
}
