//! Named tensors in memory.

use std::collections::BTreeMap;

use spikelet_expr::DType;

use crate::bits::bit_words;
use crate::collate::check_fields;
use crate::dataset::{Dataset, check_index, first_labels};
use crate::digest::{Once, Parts};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::field::{Field, type_name};
use crate::sample::{Sample, SampleTensor, Values};

/// The values of a field for all samples, one sample after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// Bytes.
    U8(Vec<u8>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 32-bit floating point.
    F32(Vec<f32>),
    /// Binary values, each sample packed as [`pack_bits`](crate::pack_bits) does.
    Bits(Vec<u64>),
    /// The events of each sample.
    Events(Vec<Events<'static>>),
}

impl Column {
    fn dtype(&self) -> Option<DType> {
        Some(match self {
            Self::U8(_) => DType::U8,
            Self::I64(_) => DType::I64,
            Self::F32(_) => DType::F32,
            Self::Bits(_) => DType::Bits,
            Self::Events(_) => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::Bits(words) => words.len(),
            Self::Events(samples) => samples.len(),
        }
    }
}

macro_rules! column_from {
    ($($type:ty => $variant:ident),*) => {
        $(
            impl From<Vec<$type>> for Column {
                fn from(values: Vec<$type>) -> Self {
                    Self::$variant(values)
                }
            }

            impl From<&[$type]> for Column {
                fn from(values: &[$type]) -> Self {
                    Self::$variant(values.to_vec())
                }
            }
        )*
    };
}

column_from!(u8 => U8, i64 => I64, f32 => F32, u64 => Bits, Events<'static> => Events);

/// The position of each sample in a column.
#[derive(Clone, Debug, PartialEq)]
enum Places {
    /// All samples have this number of values.
    Equal(usize),
    /// Sample `k` has the values from `offsets[k]`, and this size of axis 0.
    Ragged {
        offsets: Vec<usize>,
        sizes: Vec<usize>,
    },
}

/// A data set of named tensors in memory. Batches are its only copies.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig};
///
/// // Three recordings of 2 time steps and 2 channels, with two targets each.
/// let data = InMemory::new("recordings")
///     .with(Field::new("x", DType::F32, [2, 2]).sequence(), (0..12).map(|v| v as f32).collect::<Vec<_>>())?
///     .with(Field::new("position", DType::F32, [1]), vec![0.5, 1.5, 2.5])?
///     .with(Field::new("labels", DType::I64, []), vec![0_i64, 1, 0])?;
///
/// let config = LoaderConfig { batch_size: 3, shuffle: false, ..LoaderConfig::default() };
/// let batch = DataLoader::new(Arc::new(data), config)?.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert_eq!(batch.require("x")?.shape, [2, 3, 2]);
/// assert_eq!(batch.f32("x")?[..6], [0.0, 1.0, 4.0, 5.0, 8.0, 9.0]);
/// assert_eq!(batch.i64("labels")?, [0, 1, 0]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InMemory {
    name: String,
    len: Option<usize>,
    fields: Vec<Field>,
    columns: Vec<(Column, Places)>,
    class_names: BTreeMap<String, Vec<String>>,
    /// A run asks for it once for each part of the samples.
    digest: Once,
}

impl InMemory {
    /// A data set without fields.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            len: None,
            fields: Vec::new(),
            columns: Vec::new(),
            class_names: BTreeMap::new(),
            digest: Once::default(),
        }
    }

    /// Adds a field with the values of all samples, one sample after the other. All sizes of the field are known;
    /// events have one entry for each sample.
    ///
    /// # Errors
    /// [`Error::Column`] if the type or the number of values does not match the field or the fields before it;
    /// [`Error::Field`].
    pub fn with(self, field: Field, values: impl Into<Column>) -> Result<Self> {
        let values = values.into();
        let each = match field.events {
            true => Some(1),
            false => field
                .shape
                .iter()
                .copied()
                .collect::<Option<Vec<usize>>>()
                .and_then(|shape| {
                    let mut sizes = shape.iter();
                    match field.dtype {
                        DType::Bits => bit_words(&shape),
                        _ => sizes.try_fold(1_usize, |n, &size| n.checked_mul(size)),
                    }
                }),
        };
        let problem = match each {
            _ if values.dtype() != field.tensor_dtype() => {
                format!("values of type {} were given", type_name(values.dtype()))
            }
            None | Some(0) => {
                "all sizes must be known and at least 1; give samples of different lengths to \
                               `with_lengths`"
                    .into()
            }
            Some(each) if !values.len().is_multiple_of(each) => {
                format!(
                    "{} values were given, not a multiple of the {each} of a sample",
                    values.len()
                )
            }
            Some(each) => {
                let len = values.len() / each;
                return self.push(field, values, Places::Equal(each), len);
            }
        };
        Err(self.column_error(&field, problem))
    }

    /// Adds a field whose samples have different sizes of axis 0: `lengths` are these sizes. The size of the field's axis is the
    /// largest, to which batches are filled up by [`Field::pad`], or it is a [`Field::variable_axis`]; the inputs of a training
    /// step have one size.
    ///
    /// ```
    /// use spikelet_data::{DType, Dataset, Field, InMemory};
    ///
    /// let field = Field::new("x", DType::F32, [2, 2]).sequence().pad(0.0);
    /// let data = InMemory::new("walks").with_lengths(field, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2])?;
    /// assert_eq!(data.sample(1)?.require("x")?.as_f32(), Some(&[3.0, 4.0, 5.0, 6.0][..]));
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Column`] if the number of values is not that of the lengths; [`Error::Field`].
    pub fn with_lengths(
        self,
        field: Field,
        values: impl Into<Column>,
        lengths: &[usize],
    ) -> Result<Self> {
        let values = values.into();
        let row = match field.shape.split_first() {
            Some((most, rest)) if !field.events && (most.is_none() || field.pad.is_some()) => {
                rest.iter().copied().collect::<Option<Vec<usize>>>()
            }
            _ => None,
        };
        let each = row.and_then(|row| match (field.dtype, row.is_empty()) {
            // The rows of bits are padded to whole words: the variable axis must not be the last one.
            (DType::Bits, true) => None,
            (DType::Bits, false) => bit_words(&row),
            _ => row.iter().try_fold(1_usize, |n, &size| n.checked_mul(size)),
        });
        let problem = match each {
            _ if values.dtype() != field.tensor_dtype() => {
                format!("values of type {} were given", type_name(values.dtype()))
            }
            None => "axis 0 must be the only axis that varies, and not the last one of bits; use \
                     `Field::pad`, or `Field::variable_axis(0)`"
                .into(),
            Some(_) if lengths.iter().copied().max() > field.shape[0].or(Some(usize::MAX)) => {
                format!(
                    "a sample has the length {:?}",
                    lengths.iter().max().unwrap_or(&0)
                )
            }
            Some(each) => {
                let mut offsets = vec![0_usize];
                let mut end = Some(0_usize);
                for &length in lengths {
                    end = end.and_then(|end| length.checked_mul(each)?.checked_add(end));
                    offsets.push(end.unwrap_or(usize::MAX));
                }
                if end == Some(values.len()) {
                    let sizes = lengths.to_vec();
                    return self.push(
                        field,
                        values,
                        Places::Ragged { offsets, sizes },
                        lengths.len(),
                    );
                }
                format!(
                    "{} values were given, the lengths need {end:?}",
                    values.len()
                )
            }
        };
        Err(self.column_error(&field, problem))
    }

    /// Sets the names of the classes of a field of labels.
    #[must_use]
    pub fn classes(mut self, field: impl Into<String>, names: Vec<String>) -> Self {
        self.class_names.insert(field.into(), names);
        self.digest = Once::default();
        self
    }

    fn push(mut self, field: Field, values: Column, places: Places, len: usize) -> Result<Self> {
        if let Some(expected) = self.len
            && expected != len
        {
            let problem = format!("it has {len} samples, the fields before it have {expected}");
            return Err(self.column_error(&field, problem));
        }
        if let Column::Events(samples) = &values
            && let Some(at) = samples.iter().position(|events| events.len().is_none())
        {
            let problem = format!("the columns of sample {at} have different lengths");
            return Err(self.column_error(&field, problem));
        }
        self.len = Some(len);
        self.digest = Once::default();
        self.fields.push(field);
        self.columns.push((values, places));
        check_fields(&self.name, &self.fields)?;
        Ok(self)
    }

    fn compute_digest(&self) -> [u8; 32] {
        let mut digest = Parts::of("in memory").part(self.name.as_bytes());
        for (field, (values, places)) in self.fields.iter().zip(&self.columns) {
            digest = digest.part(field.to_string().as_bytes());
            if let Places::Ragged { sizes, .. } = places {
                digest = digest.values(sizes, |size| (size as u64).to_le_bytes());
            }
            digest = match values {
                Column::U8(values) => digest.part(values),
                Column::I64(values) => digest.values(values, i64::to_le_bytes),
                Column::F32(values) => digest.values(values, f32::to_le_bytes),
                Column::Bits(words) => digest.values(words, u64::to_le_bytes),
                Column::Events(samples) => samples.iter().fold(digest, Parts::events),
            };
        }
        for (field, names) in &self.class_names {
            digest = digest.part(field.as_bytes()).number(names.len());
            digest = (names.iter()).fold(digest, |digest, name| digest.part(name.as_bytes()));
        }
        digest.finish()
    }

    fn column_error(&self, field: &Field, problem: String) -> Error {
        Error::Column {
            dataset: self.name.clone(),
            field: field.to_string(),
            problem,
        }
    }
}

impl Dataset for InMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.len.unwrap_or(0)
    }

    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let mut sample = Sample::new();
        for (field, (values, places)) in self.fields.iter().zip(&self.columns) {
            let (range, first) = match places {
                Places::Equal(each) => (index * each..(index + 1) * each, None),
                Places::Ragged { offsets, sizes } => {
                    (offsets[index]..offsets[index + 1], Some(sizes[index]))
                }
            };
            let sizes = field.shape.iter().enumerate();
            let shape = sizes.map(|(axis, size)| match axis {
                0 => first.or(*size).unwrap_or(0),
                _ => size.unwrap_or(0),
            });
            let values = match values {
                Column::U8(values) => Values::U8(values[range].into()),
                Column::I64(values) => Values::I64(values[range].into()),
                Column::F32(values) => Values::F32(values[range].into()),
                Column::Bits(words) => Values::Bits(words[range].into()),
                Column::Events(samples) => {
                    let tensor = SampleTensor::events(samples[index].borrow());
                    sample.insert(field.name.as_str(), tensor);
                    continue;
                }
            };
            let shape = shape.collect();
            sample.insert(field.name.as_str(), SampleTensor { shape, values });
        }
        Ok(sample)
    }

    fn digest(&self) -> Result<[u8; 32]> {
        Ok(self.digest.get_or(|| self.compute_digest()))
    }

    fn labels(&self) -> Result<Vec<i64>> {
        let mut columns = self.fields.iter().zip(&self.columns);
        let labels = columns.find(|(field, _)| field.name == "labels");
        match labels {
            Some((_, (Column::I64(labels), Places::Equal(each)))) => {
                Ok(labels.iter().copied().step_by(*each).collect())
            }
            _ => first_labels(self),
        }
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.class_names.get(field).map_or(&[], Vec::as_slice)
    }

    fn in_memory(&self) -> bool {
        true
    }
}
