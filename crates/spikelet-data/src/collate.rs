//! Collation: the samples of a batch are stacked, tensor by tensor.
//!
//! A sample is copied to its place as soon as it is read. Only samples whose size is filled up to the largest of the
//! batch are held until all are known.

use std::sync::Arc;

use spikelet_expr::DType;

use crate::augment::{Augment, Normalize, Pipeline};
use crate::batch::{Batch, BatchTensor, BatchValues};
use crate::bits::bit_words;
use crate::error::{Error, Result};
use crate::events::EventBatch;
use crate::field::Field;
use crate::sample::{Sample, SampleTensor, Values};
use crate::tensor_error::TensorError;

const PAD_HELP: &str =
    "give the field a pad value with `Field::pad`, or bring samples to one size with a transform";
const IMAGE_HELP: &str =
    "bring images to one size with a transform, for example a random resized crop";
const FIELD_HELP: &str = "`Dataset::fields` and `Transform::fields` must describe the samples";

/// Checks that fields can be collated.
///
/// # Errors
/// [`Error::Field`] for the first one that cannot.
pub(crate) fn check_fields(dataset: &str, fields: &[Field]) -> Result<()> {
    for (at, field) in fields.iter().enumerate() {
        if let Some(problem) = problem(field, &fields[..at]) {
            return Err(Error::Field {
                dataset: dataset.into(),
                field: field.to_string(),
                problem,
            });
        }
    }
    Ok(())
}

fn problem(field: &Field, before: &[Field]) -> Option<&'static str> {
    let rank = field.shape.len();
    let taken = |name: &str| {
        let padded = |f: &Field| f.pad.is_some() && f.length_name() == name;
        before.iter().any(|f| f.name == name || padded(f))
    };
    if taken(&field.name) || field.pad.is_some() && taken(&field.length_name()) {
        return Some("another field has this name; names must be unique");
    }
    if !matches!(
        field.dtype,
        DType::U8 | DType::I64 | DType::F32 | DType::Bits
    ) {
        return Some("the types of data sets are u8, i64, f32 and bits");
    }
    if field.image && (field.dtype != DType::U8 || rank != 3 + usize::from(field.sequence)) {
        return Some("an image is u8 of 3 axes, [channels, height, width], and of 4 in a sequence");
    }
    if field.events && (field.sequence || field.pad.is_some()) {
        return Some("events are neither a sequence nor padded; bin them into frames first");
    }
    let axes_before_bits = usize::from(field.dtype == DType::Bits);
    if field.sequence && rank < 1 + axes_before_bits {
        return Some("a sequence needs a time axis, and a sequence of bits one more");
    }
    let pad = field.pad?;
    let exact = match field.dtype {
        DType::U8 if !field.image => f64::from(pad as u8) == pad,
        DType::I64 => (pad as i64) as f64 == pad,
        DType::Bits => pad == 0.0,
        _ => true,
    };
    if !exact {
        return Some("its type does not have this pad value; bits are padded with 0");
    }
    (rank == 0).then_some("a single number has no axis to pad")
}

/// One tensor of the batch.
struct Column<'a> {
    tensor: BatchTensor,
    /// The shape of every sample after padding; `None` before the first one.
    target: Option<Vec<usize>>,
    lengths: Vec<i64>,
    /// Samples that wait for the size of the largest, with the number of their random draws.
    held: Vec<(SampleTensor<'a>, u32)>,
}

/// The conversion of images of one field, which is made when the first one comes.
type FieldPipeline = Option<([usize; 3], Pipeline)>;

/// Stacks samples. Each thread has its own.
pub(crate) struct Collator {
    fields: Arc<[Field]>,
    names: Vec<Arc<str>>,
    augment: Augment,
    normalize: Option<Normalize>,
    seed: u64,
    pipelines: Vec<FieldPipeline>,
}

/// The batch that is being stacked.
pub(crate) struct Stack<'c, 'a> {
    collator: &'c mut Collator,
    columns: Vec<Column<'a>>,
    epoch: u64,
    len: usize,
}

impl Collator {
    /// A collator of samples with these fields, which have been checked.
    pub(crate) fn new(
        fields: Arc<[Field]>,
        augment: Augment,
        normalize: Option<Normalize>,
        seed: u64,
    ) -> Self {
        Self {
            names: fields
                .iter()
                .map(|field| field.name.as_str().into())
                .collect(),
            pipelines: fields.iter().map(|_| None).collect(),
            fields,
            augment,
            normalize,
            seed,
        }
    }

    /// Begins a batch of `len` samples in the memory of `batch`.
    pub(crate) fn stack<'a>(&mut self, batch: &mut Batch, epoch: u64, len: usize) -> Stack<'_, 'a> {
        let mut old = batch.take_tensors();
        let columns = self.fields.iter().map(|field| {
            let at = old.iter().position(|(name, _)| **name == *field.name);
            Column {
                tensor: fresh(field, at.map(|at| old.swap_remove(at).1)),
                target: None,
                lengths: Vec::new(),
                held: Vec::new(),
            }
        });
        let columns = columns.collect();
        Stack {
            collator: self,
            columns,
            epoch,
            len,
        }
    }
}

/// A tensor of the type of a field, in the memory of `old` if its type is the same.
fn fresh(field: &Field, old: Option<BatchTensor>) -> BatchTensor {
    let dtype = match field.image {
        true => Some(DType::F32),
        false => field.tensor_dtype(),
    };
    let (shape, values) = match old {
        Some(old) if old.dtype() == dtype => (old.shape, old.values),
        _ => (
            Vec::new(),
            match dtype {
                None => BatchValues::Events(EventBatch::default()),
                Some(DType::U8) => BatchValues::U8(Vec::new()),
                Some(DType::I64) => BatchValues::I64(Vec::new()),
                Some(DType::Bits) => BatchValues::Bits(Vec::new()),
                // No field has another type.
                Some(_) => BatchValues::F32(Vec::new()),
            },
        ),
    };
    BatchTensor {
        shape,
        batch_axis: usize::from(field.sequence),
        values,
    }
}

impl<'a> Stack<'_, 'a> {
    /// Adds sample number `k` of the batch; `draws` selects the random numbers of its augmentation.
    pub(crate) fn add(&mut self, k: usize, mut sample: Sample<'a>, draws: u32) -> Result<()> {
        for at in 0..self.columns.len() {
            let field = &self.collator.fields[at];
            let Some(tensor) = sample.at(at, &field.name) else {
                return Err(sample.missing(&field.name).into());
            };
            check(field, tensor)?;
            let column = &mut self.columns[at];
            if field.pad.is_some() {
                column.lengths.push(tensor.shape[0] as i64);
                if field.shape.contains(&None) {
                    let name = field.name.clone();
                    let tensor = sample.remove(&name).expect("it was found above");
                    column.held.push((tensor, draws));
                    continue;
                }
            }
            if column.target.is_none() {
                let sizes = field.shape.iter().zip(&tensor.shape);
                let target = sizes.map(|(size, &found)| size.unwrap_or(found));
                column.begin(field, target.collect(), self.len)?;
            }
            self.place(at, k, tensor, draws)?;
        }
        Ok(())
    }

    /// Places the samples that were held, and moves all tensors to the batch.
    pub(crate) fn finish(mut self, batch: &mut Batch) -> Result<()> {
        for at in 0..self.columns.len() {
            let field = &self.collator.fields[at];
            let column = &mut self.columns[at];
            let held = std::mem::take(&mut column.held);
            if !held.is_empty() {
                let largest = |axis: usize| held.iter().map(|(tensor, _)| tensor.shape[axis]).max();
                let sizes = field.shape.iter().enumerate();
                let target = sizes.map(|(axis, size)| size.or_else(|| largest(axis)).unwrap_or(0));
                column.begin(field, target.collect(), self.len)?;
                for (k, (tensor, draws)) in held.iter().enumerate() {
                    self.place(at, k, tensor, *draws)?;
                }
            }
        }
        for ((field, name), column) in self
            .collator
            .fields
            .iter()
            .zip(&self.collator.names)
            .zip(self.columns)
        {
            batch.push(name.clone(), column.tensor);
            if field.pad.is_some() {
                let lengths = BatchTensor::i64(&[self.len], column.lengths);
                batch.push(field.length_name().into(), lengths);
            }
        }
        Ok(())
    }

    /// Copies a sample to place `k`.
    fn place(&mut self, at: usize, k: usize, tensor: &SampleTensor<'_>, draws: u32) -> Result<()> {
        let field = &self.collator.fields[at];
        let column = &mut self.columns[at];
        let target = column.target.as_deref().unwrap_or_default();
        let fits = tensor
            .shape
            .iter()
            .zip(target)
            .all(|(found, most)| found <= most);
        // Samples of events are appended, whatever their number.
        let equal = tensor.shape == target || field.events;
        let only_time = tensor.shape.get(1..) == target.get(1..) && field.sequence;
        if !equal && (field.pad.is_none() || !fits || field.image && !only_time) {
            return Err(TensorError::Shape {
                name: field.name.clone(),
                found: tensor.shape.clone(),
                expected: match field.pad {
                    Some(_) => format!("at most {target:?}"),
                    None => format!("{target:?}"),
                },
                help: if field.image { IMAGE_HELP } else { PAD_HELP },
            }
            .into());
        }
        let grid = Grid {
            source: &tensor.shape,
            target,
            sequence: field.sequence,
            k,
            len: self.len,
        };
        let pad = field.pad.unwrap_or(0.0);
        match (&tensor.values, &mut column.tensor.values) {
            (Values::U8(from), BatchValues::F32(to)) => {
                let shape = &tensor.shape[usize::from(field.sequence)..];
                let shape = [shape[0], shape[1], shape[2]];
                let pipeline = &mut self.collator.pipelines[at];
                if pipeline.as_ref().is_none_or(|(own, _)| *own != shape) {
                    let normalize = self.collator.normalize.clone();
                    if let Some(normalize) = &normalize {
                        normalize.check(shape[0])?;
                    }
                    let augment = self.collator.augment.clone();
                    let new = Pipeline::new(augment, normalize, shape, self.collator.seed);
                    *pipeline = Some((shape, new));
                }
                let (_, pipeline) = pipeline.as_mut().expect("it was made above");
                let epoch = self.epoch;
                grid.place(from, to, pad as f32, |image, out| {
                    pipeline.write(image, epoch, draws, out);
                });
            }
            (Values::U8(from), BatchValues::U8(to)) => {
                grid.place(from, to, pad as u8, |from, to| to.copy_from_slice(from));
            }
            (Values::I64(from), BatchValues::I64(to)) => {
                grid.place(from, to, pad as i64, |from, to| to.copy_from_slice(from));
            }
            (Values::F32(from), BatchValues::F32(to)) => {
                grid.place(from, to, pad as f32, |from, to| to.copy_from_slice(from));
            }
            (Values::Bits(from), BatchValues::Bits(to)) => {
                let words = |shape: &[usize]| -> Vec<usize> {
                    let mut shape = shape.to_vec();
                    if let Some(row) = shape.last_mut() {
                        *row = row.div_ceil(64);
                    }
                    shape
                };
                let grid = Grid {
                    source: &words(&tensor.shape),
                    target: &words(target),
                    ..grid
                };
                grid.place(from, to, 0, |from, to| to.copy_from_slice(from));
            }
            (Values::Events(from), BatchValues::Events(to)) => to.push(from),
            _ => unreachable!("the type was checked"),
        }
        Ok(())
    }
}

/// Checks a tensor against its field.
fn check(field: &Field, tensor: &SampleTensor<'_>) -> Result<(), TensorError> {
    if tensor.dtype() != field.tensor_dtype() {
        return Err(TensorError::Element {
            name: field.name.clone(),
            found: tensor.dtype(),
            expected: field.tensor_dtype(),
            help: FIELD_HELP,
        });
    }
    tensor.check(&field.name)?;
    let fits = |(size, found): (&Option<usize>, &usize)| match size {
        None => true,
        Some(size) if field.pad.is_some() => found <= size,
        Some(size) => found == size,
    };
    if tensor.shape.len() != field.shape.len() || !field.shape.iter().zip(&tensor.shape).all(fits) {
        return Err(TensorError::Shape {
            name: field.name.clone(),
            found: tensor.shape.clone(),
            expected: field.shape_text(),
            help: FIELD_HELP,
        });
    }
    if field.image && tensor.shape[usize::from(field.sequence)..].contains(&0) {
        return Err(TensorError::Shape {
            name: field.name.clone(),
            found: tensor.shape.clone(),
            expected: "an image with pixels".into(),
            help: FIELD_HELP,
        });
    }
    Ok(())
}

impl Column<'_> {
    /// Sets the shape of every sample, and allocates the batch.
    fn begin(&mut self, field: &Field, target: Vec<usize>, len: usize) -> Result<()> {
        let shape = &mut self.tensor.shape;
        shape.clear();
        if field.events {
            shape.push(len);
        } else {
            shape.extend_from_slice(&target);
            shape.insert(self.tensor.batch_axis, len);
        }
        let too_large = || TensorError::Shape {
            name: field.name.clone(),
            found: shape.clone(),
            expected: "a batch that fits into memory".into(),
            help: "use a smaller batch",
        };
        let elements = match field.dtype {
            DType::Bits => bit_words(&target).and_then(|words| words.checked_mul(len)),
            _ => target
                .iter()
                .try_fold(len, |elements, &size| elements.checked_mul(size)),
        };
        let elements = elements.ok_or_else(too_large)?;
        // Every element is written below, so the buffer is not cleared.
        let fits = match &mut self.tensor.values {
            BatchValues::U8(values) => resize(values, elements),
            BatchValues::I64(values) => resize(values, elements),
            BatchValues::F32(values) => resize(values, elements),
            BatchValues::Bits(words) => resize(words, elements),
            BatchValues::Events(events) => {
                events.clear();
                true
            }
        };
        if !fits {
            return Err(too_large().into());
        }
        self.target = Some(target);
        Ok(())
    }
}

/// Resizes a vector; false if there is not enough memory.
fn resize<T: Copy + Default>(values: &mut Vec<T>, len: usize) -> bool {
    let more = len.saturating_sub(values.len());
    let fits = values.try_reserve_exact(more).is_ok();
    if fits {
        values.resize(len, T::default());
    }
    fits
}

/// The place of a sample in a batch.
#[derive(Clone, Copy)]
struct Grid<'s> {
    source: &'s [usize],
    target: &'s [usize],
    sequence: bool,
    k: usize,
    len: usize,
}

impl Grid<'_> {
    /// Copies a sample with `copy`, which is given slices of equal lengths, and fills the rest of its place with `pad`.
    /// A sequence is copied step by step.
    fn place<S, D: Copy>(
        &self,
        from: &[S],
        to: &mut [D],
        pad: D,
        mut copy: impl FnMut(&[S], &mut [D]),
    ) {
        let (steps, target_steps) = match self.sequence {
            true => (self.source[0], self.target[0]),
            false => (1, 1),
        };
        let time_axes = usize::from(self.sequence);
        let (source, target) = (&self.source[time_axes..], &self.target[time_axes..]);
        let len: usize = target.iter().product();
        if len == 0 {
            // Nothing to copy, in any number of steps.
            return;
        }
        let source_len: usize = source.iter().product();
        for t in 0..target_steps {
            let place = match self.sequence {
                true => t * self.len + self.k,
                false => self.k,
            };
            let to = &mut to[place * len..][..len];
            if t >= steps {
                to.fill(pad);
                continue;
            }
            let from = &from[t * source_len..][..source_len];
            if source == target {
                copy(from, to);
            } else {
                to.fill(pad);
                copy_rows(from, source, to, target, &mut copy);
            }
        }
    }
}

/// Copies a smaller tensor into the first places of each axis of a larger one.
fn copy_rows<S, D>(
    from: &[S],
    source: &[usize],
    to: &mut [D],
    target: &[usize],
    copy: &mut impl FnMut(&[S], &mut [D]),
) {
    let ([first, source @ ..], [_, target @ ..]) = (source, target) else {
        return copy(from, to);
    };
    if source == target {
        return copy(from, &mut to[..from.len()]);
    }
    let (from_len, to_len): (usize, usize) = (source.iter().product(), target.iter().product());
    for at in 0..*first {
        let from = &from[at * from_len..][..from_len];
        copy_rows(from, source, &mut to[at * to_len..][..to_len], target, copy);
    }
}
