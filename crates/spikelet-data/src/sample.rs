//! One sample of a data set: named tensors that borrow from it where they can.

use std::borrow::Cow;

use spikelet_expr::DType;

use crate::bits::bit_words;
use crate::digest::Parts;
use crate::error::Result;
use crate::events::Events;
use crate::field::type_name;
use crate::tensor_error::TensorError;

/// The elements of a tensor of a sample.
///
/// A data set in memory lends its slices; a file reader gives vectors. A transform replaces the value, or changes a
/// [`Cow`] in place with [`Cow::to_mut`], which copies borrowed elements first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Bytes.
    U8(Cow<'a, [u8]>),
    /// 64-bit integers.
    I64(Cow<'a, [i64]>),
    /// 32-bit floating point.
    F32(Cow<'a, [f32]>),
    /// Binary values, one bit each; see [`pack_bits`](crate::pack_bits) for the layout.
    Bits(Cow<'a, [u64]>),
    /// Events.
    Events(Events<'a>),
}

/// One tensor of a sample: its shape and its elements, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleTensor<'a> {
    /// The size of each axis; `[]` is a single number, events have the one axis `[E]`.
    pub shape: Vec<usize>,
    /// The elements.
    pub values: Values<'a>,
}

impl<'a> SampleTensor<'a> {
    /// A tensor of bytes.
    pub fn u8(shape: &[usize], values: impl Into<Cow<'a, [u8]>>) -> Self {
        Self::new(shape, Values::U8(values.into()))
    }

    /// A tensor of 64-bit integers.
    pub fn i64(shape: &[usize], values: impl Into<Cow<'a, [i64]>>) -> Self {
        Self::new(shape, Values::I64(values.into()))
    }

    /// A tensor of 32-bit floating point numbers.
    pub fn f32(shape: &[usize], values: impl Into<Cow<'a, [f32]>>) -> Self {
        Self::new(shape, Values::F32(values.into()))
    }

    /// A tensor of binary values, packed as [`pack_bits`](crate::pack_bits) does.
    pub fn bits(shape: &[usize], words: impl Into<Cow<'a, [u64]>>) -> Self {
        Self::new(shape, Values::Bits(words.into()))
    }

    /// Events; the shape is their number.
    #[must_use]
    pub fn events(events: Events<'a>) -> Self {
        Self::new(&[events.t.len()], Values::Events(events))
    }

    fn new(shape: &[usize], values: Values<'a>) -> Self {
        Self {
            shape: shape.to_vec(),
            values,
        }
    }

    /// The type of the elements; `None` for events.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        Some(match self.values {
            Values::U8(_) => DType::U8,
            Values::I64(_) => DType::I64,
            Values::F32(_) => DType::F32,
            Values::Bits(_) => DType::Bits,
            Values::Events(_) => return None,
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
            Values::U8(values) => Some(values),
            _ => None,
        }
    }

    /// The integers, if it is of this type.
    #[must_use]
    pub fn as_i64(&self) -> Option<&[i64]> {
        match &self.values {
            Values::I64(values) => Some(values),
            _ => None,
        }
    }

    /// The floating point numbers, if it is of this type.
    #[must_use]
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.values {
            Values::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The words of the binary values, if it is of this type.
    #[must_use]
    pub fn as_bits(&self) -> Option<&[u64]> {
        match &self.values {
            Values::Bits(words) => Some(words),
            _ => None,
        }
    }

    /// The events, if it is of this type.
    #[must_use]
    pub fn as_events(&self) -> Option<&Events<'a>> {
        match &self.values {
            Values::Events(events) => Some(events),
            _ => None,
        }
    }

    /// Checks that the number of values is that of the shape. The loader calls it for every sample.
    ///
    /// # Errors
    /// [`TensorError::Values`] for the tensor `name`.
    pub fn check(&self, name: &str) -> Result<(), TensorError> {
        let product = |shape: &[usize]| {
            let mut sizes = shape.iter();
            sizes.try_fold(1_usize, |n, &size| n.checked_mul(size))
        };
        let (found, expected) = match &self.values {
            Values::U8(values) => (Some(values.len()), product(&self.shape)),
            Values::I64(values) => (Some(values.len()), product(&self.shape)),
            Values::F32(values) => (Some(values.len()), product(&self.shape)),
            Values::Bits(words) => (Some(words.len()), bit_words(&self.shape)),
            Values::Events(events) => (events.len(), product(&self.shape)),
        };
        if found.is_some() && found == expected {
            return Ok(());
        }
        Err(TensorError::Values {
            name: name.into(),
            dtype: self.dtype(),
            shape: self.shape.clone(),
            found,
            expected,
        })
    }

    /// Adds its shape and its elements to a digest.
    pub(crate) fn digest_into(&self, digest: Parts) -> Parts {
        let digest = digest.values(&self.shape, |size| (size as u64).to_le_bytes());
        match &self.values {
            Values::U8(values) => digest.part(values),
            Values::I64(values) => digest.values(values, i64::to_le_bytes),
            Values::F32(values) => digest.values(values, f32::to_le_bytes),
            Values::Bits(words) => digest.values(words, u64::to_le_bytes),
            Values::Events(events) => digest.events(events),
        }
    }

    /// The same tensor without a borrow.
    #[must_use]
    pub fn into_owned(self) -> SampleTensor<'static> {
        let values = match self.values {
            Values::U8(values) => Values::U8(Cow::Owned(values.into_owned())),
            Values::I64(values) => Values::I64(Cow::Owned(values.into_owned())),
            Values::F32(values) => Values::F32(Cow::Owned(values.into_owned())),
            Values::Bits(words) => Values::Bits(Cow::Owned(words.into_owned())),
            Values::Events(events) => Values::Events(events.into_owned()),
        };
        SampleTensor {
            shape: self.shape,
            values,
        }
    }
}

/// One sample: its tensors by name, in the order of [`Dataset::fields`](crate::Dataset::fields).
///
/// ```
/// use spikelet_data::{Sample, SampleTensor};
///
/// let pixels = [0_u8, 128, 255, 7];
/// let sample = Sample::new()
///     .with("images", SampleTensor::u8(&[1, 2, 2], &pixels))
///     .with("labels", SampleTensor::i64(&[], vec![3]));
/// assert_eq!(sample.require("images")?.as_u8(), Some(&pixels[..]));
/// assert!(sample.require("image").unwrap_err().to_string().contains("images, labels"));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample<'a> {
    tensors: Vec<(Cow<'a, str>, SampleTensor<'a>)>,
}

impl<'a> Sample<'a> {
    /// A sample without tensors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor, or replaces the one of this name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, tensor: SampleTensor<'a>) -> Self {
        self.insert(name, tensor);
        self
    }

    /// Adds a tensor, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<Cow<'a, str>>, tensor: SampleTensor<'a>) {
        let name = name.into();
        match self.get_mut(&name) {
            Some(old) => *old = tensor,
            None => {
                if self.tensors.is_empty() {
                    self.tensors.reserve_exact(2);
                }
                self.tensors.push((name, tensor));
            }
        }
    }

    /// Removes and returns a tensor.
    pub fn remove(&mut self, name: &str) -> Option<SampleTensor<'a>> {
        let at = self.tensors.iter().position(|(own, _)| own == name)?;
        Some(self.tensors.remove(at).1)
    }

    /// The tensor of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SampleTensor<'a>> {
        let mut tensors = self.tensors.iter();
        Some(&tensors.find(|(own, _)| own == name)?.1)
    }

    /// The tensor of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut SampleTensor<'a>> {
        let mut tensors = self.tensors.iter_mut();
        Some(&mut tensors.find(|(own, _)| own == name)?.1)
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`TensorError::Missing`], with the names that there are.
    pub fn require(&self, name: &str) -> Result<&SampleTensor<'a>> {
        self.get(name).ok_or_else(|| self.missing(name).into())
    }

    /// The tensor of this name, to change it.
    ///
    /// # Errors
    /// [`TensorError::Missing`], with the names that there are.
    pub fn require_mut(&mut self, name: &str) -> Result<&mut SampleTensor<'a>> {
        if self.get(name).is_none() {
            return Err(self.missing(name).into());
        }
        Ok(self.get_mut(name).expect("it was found above"))
    }

    /// The names and tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SampleTensor<'a>)> {
        self.tensors.iter().map(|(name, tensor)| (&**name, tensor))
    }

    /// The tensor that is field number `at` of the data set and has this name: at this position if the order is that
    /// of the fields, found by name otherwise.
    pub(crate) fn at(&self, at: usize, name: &str) -> Option<&SampleTensor<'a>> {
        match self.tensors.get(at) {
            Some((own, tensor)) if own == name => Some(tensor),
            _ => self.get(name),
        }
    }

    pub(crate) fn missing(&self, name: &str) -> TensorError {
        TensorError::Missing {
            name: name.into(),
            names: self.iter().map(|(name, _)| name.into()).collect(),
        }
    }

    /// The same sample without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Sample<'static> {
        let tensors = self.tensors.into_iter();
        Sample {
            tensors: tensors
                .map(|(name, tensor)| (Cow::Owned(name.into_owned()), tensor.into_owned()))
                .collect(),
        }
    }
}
