//! The arrays of a recording.

use super::RecordingError;
use crate::step::{LeftOut, Purpose, RecordedTypes, RecordedValue, Step};
use spikelet_core::Result;
use spikelet_data::{ArraySpec, ArrayType, Dataset};
use spikelet_graph::TensorType;

/// The output that predictions are computed from.
pub(super) const SCORES: &str = crate::step::SCORES;

/// The labels that predictions are compared with.
pub(super) const LABELS: &str = crate::step::LABELS;

/// The names of arrays that are no values of layers.
const PREDICTIONS: &str = "predictions";
const INDICES: &str = "indices";

/// The source of an array of the file.
pub(super) enum Source {
    /// A value of a layer, whose axis 1 are the samples.
    Layer(RecordedValue),
    /// A value of a layer with one sequence for all samples of a batch.
    Batch(RecordedValue),
    /// An output of the function, whose axis 0 are the samples.
    Output(String),
    /// An integer of each sample in the batch.
    Input(String),
    Predictions,
    Indices,
}

/// The arrays of a recording.
pub(super) struct Content {
    pub(super) sources: Vec<Source>,
    pub(super) specs: Vec<ArraySpec>,
    /// The requested values that have no place in the file.
    pub(super) left_out: Vec<LeftOut>,
    /// The bytes of a sample on the device.
    pub(super) sample_bytes: u64,
}

impl Content {
    /// Those of `samples` samples of a data set; `batches`: the number of their batches, if the layers learn from batch to
    /// batch.
    pub(super) fn new(
        step: &Step<'_>,
        purpose: Purpose,
        data: &dyn Dataset,
        samples: usize,
        batches: Option<usize>,
    ) -> Result<Self> {
        let types = |samples| step.recorded_types(samples, purpose);
        let (one, two) = (types(1)?, types(2)?);
        let mut content = Self {
            sources: vec![],
            specs: vec![],
            left_out: one.recorded.left_out.clone(),
            sample_bytes: 0,
        };
        for value in &one.recorded.values {
            let expected = with_axis(&value.ty.shape, 1, 2);
            let mut others = two.recorded.values.iter();
            let other = others.find(|other| other.path == value.path);
            let other = other.map(|other| &other.ty.shape);
            if let Some(batches) = batches
                && other == Some(&value.ty.shape)
                && !value.ty.shape.is_empty()
            {
                let mut shape = value.ty.shape.clone();
                shape.insert(1, batches);
                let source = Source::Batch(value.clone());
                content.add(&value.path, ArrayType::F32, shape, source);
                continue;
            }
            if expected.is_none() || other != expected.as_ref() {
                content.left_out.push(LeftOut {
                    path: value.path.clone(),
                    why: format!("{} for a batch of one sample is not [T, N, …]", value.ty),
                });
                continue;
            }
            let element = if value.binary {
                ArrayType::U8
            } else {
                ArrayType::F32
            };
            let shape = with_axis(&value.ty.shape, 1, samples).unwrap_or_default();
            content.sample_bytes += value.ty.len() as u64 * 4;
            content.add(&value.path, element, shape, Source::Layer(value.clone()));
        }
        if content.specs.is_empty() {
            let left_out = content.left_out;
            return Err(RecordingError::Nothing { left_out }.into());
        }
        let outputs = outputs(&one, &two);
        let has_scores = outputs
            .iter()
            .any(|(name, ty)| name == SCORES && ty.shape.len() == 2);
        for (name, ty) in outputs {
            let shape = with_axis(&ty.shape, 0, samples).unwrap_or_default();
            let source = Source::Output(name.clone());
            content.add(&name, ArrayType::F32, shape, source);
        }
        if has_scores {
            let shape = vec![samples];
            content.add(PREDICTIONS, ArrayType::I64, shape, Source::Predictions);
        }
        let fields = data.fields();
        let given = |name: &String| fields.iter().any(|field| field.name == *name);
        for name in step.integer_inputs().into_iter().filter(given) {
            let source = Source::Input(name.clone());
            content.add(&name, ArrayType::I64, vec![samples], source);
        }
        content.add(INDICES, ArrayType::I64, vec![samples], Source::Indices);
        Ok(content)
    }

    /// Adds an array, unless there is one of this name already.
    fn add(&mut self, name: &str, element: ArrayType, shape: Vec<usize>, source: Source) {
        if self.specs.iter().any(|spec| spec.name == name) {
            return;
        }
        let name = name.to_string();
        self.specs.push(ArraySpec {
            name,
            element,
            shape,
        });
        self.sources.push(source);
    }

    pub(super) fn bytes(&self) -> u64 {
        let bytes = self.specs.iter().map(ArraySpec::bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

/// The shape with another size of an axis that has the size 1; `None` if it has another one.
fn with_axis(shape: &[usize], axis: usize, size: usize) -> Option<Vec<usize>> {
    let mut shape = shape.to_vec();
    let place = shape.get_mut(axis).filter(|size| **size == 1)?;
    *place = size;
    Some(shape)
}

/// The outputs whose axis 0 are the samples: those that have the batch size there with one and with two samples.
fn outputs(one: &RecordedTypes, two: &RecordedTypes) -> Vec<(String, TensorType)> {
    let both = one.outputs.iter().zip(&two.outputs);
    let by_sample = both.filter(|((_, a), (_, b))| {
        a.dtype.is_float() && with_axis(&a.shape, 0, 2).as_ref() == Some(&b.shape)
    });
    by_sample.map(|(one, _)| one.clone()).collect()
}
