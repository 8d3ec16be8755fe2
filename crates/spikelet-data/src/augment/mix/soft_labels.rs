//! Labels as probabilities of the classes.

use spikelet_expr::DType;

use super::LABELS;
use crate::batch::{Batch, BatchTensor, BatchValues};
use crate::error::Result;
use crate::field::Field;
use crate::image_error::ImageError;
use crate::tensor_error::TensorError;

/// Replaces the labels, i64 `[N]` or already f32 `[N, classes]`, by `share` · own + (1 − `share`) · those of the sample
/// before, f32 `[N, classes]`. The sample before the first is the last.
pub(super) fn mix(batch: &mut Batch, classes: usize, share: f32) -> Result<()> {
    let tensor = batch.require(LABELS)?;
    let mut targets = match &tensor.values {
        BatchValues::I64(labels) => one_hot(labels, classes)?,
        BatchValues::F32(targets) if tensor.shape == [batch.len(), classes] => targets.clone(),
        _ => {
            return Err(TensorError::Shape {
                name: LABELS.into(),
                found: tensor.shape.clone(),
                expected: format!("i64 [N] or f32 [N, {classes}]"),
                help: "mix labels of classes only",
            }
            .into());
        }
    };
    mix_with_previous(&mut targets, classes, 1, share);
    let shape = [batch.len(), classes];
    batch.insert(LABELS, BatchTensor::f32(&shape, targets));
    Ok(())
}

fn one_hot(labels: &[i64], classes: usize) -> Result<Vec<f32>> {
    let mut targets = vec![0.0; labels.len() * classes];
    for (&label, row) in labels.iter().zip(targets.chunks_exact_mut(classes)) {
        let class = usize::try_from(label).ok();
        let target = class.and_then(|class| row.get_mut(class));
        *target.ok_or(ImageError::MixedLabel { label, classes })? = 1.0;
    }
    Ok(targets)
}

/// The mixture of each of `values.len() / (len · before)` samples of `len` values with the one before it, `before`
/// times one after the other.
pub(super) fn mix_with_previous(values: &mut [f32], len: usize, before: usize, share: f32) {
    with_previous(values, len, before, |own, previous| {
        for (own, previous) in own.iter_mut().zip(previous) {
            *own = share * *own + (1.0 - share) * previous;
        }
    });
}

/// Calls `mix` with each sample of `len` values and the unchanged one before it; the one before the first is the last.
/// `values` has `groups` (time steps) of samples.
pub(super) fn with_previous(
    values: &mut [f32],
    len: usize,
    groups: usize,
    mut mix: impl FnMut(&mut [f32], &[f32]),
) {
    let group = values.len() / groups.max(1);
    if len == 0 || group < len {
        return;
    }
    let mut last = Vec::with_capacity(len);
    for samples in values.chunks_exact_mut(group) {
        last.clear();
        last.extend_from_slice(&samples[group - len..]);
        for start in (len..group).step_by(len).rev() {
            let (before, own) = samples.split_at_mut(start);
            mix(&mut own[..len], &before[start - len..]);
        }
        mix(&mut samples[..len], &last);
    }
}

/// The fields of a batch with soft labels, after a check of the images.
pub(super) fn fields(mut fields: Vec<Field>, classes: usize) -> Result<Vec<Field>> {
    for name in [super::IMAGES, LABELS] {
        if !fields.iter().any(|field| field.name == name) {
            return Err(TensorError::Missing {
                name: name.into(),
                names: fields.iter().map(|field| field.name.clone()).collect(),
            }
            .into());
        }
    }
    for field in &mut fields {
        if field.name == LABELS {
            *field = Field::new(LABELS, DType::F32, [classes]);
        }
    }
    Ok(fields)
}

/// The images of a batch, to change them, with the number of values of a sample and of time steps before the samples.
pub(super) fn images(batch: &mut Batch) -> Result<(&mut [f32], usize, usize, Vec<usize>)> {
    let found = batch.require(super::IMAGES)?.dtype();
    let samples = batch.len().max(1);
    let tensor = batch.get_mut(super::IMAGES).expect("it was found above");
    let shape = tensor.shape.clone();
    let steps = match tensor.batch_axis {
        0 => 1,
        axis => shape[..axis.min(shape.len())].iter().product(),
    };
    match tensor.as_f32_mut() {
        Some(values) => {
            let len = values.len() / (samples * steps).max(1);
            Ok((values, len, steps, shape))
        }
        None => Err(TensorError::Element {
            name: super::IMAGES.into(),
            found,
            expected: Some(DType::F32),
            help: "mark bytes as an image with `Field::image`, so that the loader converts them",
        }
        .into()),
    }
}
