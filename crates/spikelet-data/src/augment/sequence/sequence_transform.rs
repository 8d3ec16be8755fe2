//! The interface of transforms of sequences.

use std::fmt::Debug;

use spikelet_expr::DType;
use spikelet_schema::Record;

use crate::augment::transform::check_settings;
use crate::error::Result;
use crate::field::Field;
use crate::sample::{Sample, Values};
use crate::sample_random::SampleRandom;
use crate::tensor_error::TensorError;

/// The tensor that is changed.
const TENSOR: &str = "x";

/// A random change of a sequence of features `[T, C]`, the tensor `x` of a sample: bytes, integers or floating point.
///
/// ```
/// use spikelet_data::{SampleRandom, SequenceAugmentation, TimeShift};
///
/// let mut x = [1.0, 2.0, 3.0, 4.0]; // 4 steps of a channel
/// let mut random = SampleRandom::of_sample(0, 0, 0);
/// TimeShift { steps: 0 }.augment(&mut x, [4, 1], &mut random);
/// assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
/// ```
pub trait SequenceAugmentation: Record + Debug + Send + Sync {
    /// Changes the values of a sequence of the shape `[T, C]`. All random numbers come from `random`.
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        shape: [usize; 2],
        random: &mut SampleRandom,
    );

    /// Whether time steps change their places, so that each sequence must have one label.
    fn moves_steps(&self) -> bool {
        false
    }
}

/// A [`SequenceAugmentation`] of any kind, by its name.
///
/// ```
/// use spikelet_data::SequenceTransform;
/// use spikelet_schema::Member;
///
/// let transform: Member<dyn SequenceTransform> = "time-shift=8".parse()?;
/// assert_eq!(transform.to_string(), "time-shift steps=8");
/// assert!("time-shift=much".parse::<Member<dyn SequenceTransform>>().is_err());
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub trait SequenceTransform: Record + Debug + Send + Sync {
    /// Changes the sequence of a sample.
    ///
    /// # Errors
    /// If the sample has no sequence of features.
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()>;

    /// Checks the settings. The loader calls it once.
    ///
    /// # Errors
    /// [`ImageError::Range`](crate::ImageError::Range) for the first setting that is out of range.
    fn check(&self) -> Result<()>;

    /// Checks that samples with these fields can be changed.
    ///
    /// # Errors
    /// If there is no sequence of features, or each step has a label where steps are moved.
    fn accepts(&self, fields: &[Field]) -> Result<()>;
}

impl<A: SequenceAugmentation> SequenceTransform for A {
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
        let tensor = sample.require_mut(TENSOR)?;
        let [steps, channels] = tensor.shape[..] else {
            return Err(wrong_shape(tensor.shape.clone()).into());
        };
        let (shape, dtype) = ([steps, channels], tensor.dtype());
        match &mut tensor.values {
            Values::U8(values) => self.augment(values.to_mut(), shape, random),
            Values::I64(values) => self.augment(values.to_mut(), shape, random),
            Values::F32(values) => self.augment(values.to_mut(), shape, random),
            _ => return Err(wrong_type(dtype).into()),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        check_settings(self)
    }

    fn accepts(&self, fields: &[Field]) -> Result<()> {
        let field = fields.iter().find(|field| field.name == TENSOR);
        let field = field.ok_or_else(|| TensorError::Missing {
            name: TENSOR.into(),
            names: fields.iter().map(|field| field.name.clone()).collect(),
        })?;
        if !field.sequence || field.shape.len() != 2 {
            let found = field.shape.iter().map(|size| size.unwrap_or(0)).collect();
            return Err(wrong_shape(found).into());
        }
        if field.events || field.dtype == DType::Bits {
            return Err(wrong_type(field.tensor_dtype()).into());
        }
        let labels = fields.iter().find(|field| field.name == "labels");
        if let Some(labels) = labels.filter(|labels| self.moves_steps() && labels.sequence) {
            return Err(TensorError::Shape {
                name: "labels".into(),
                found: labels.shape.iter().map(|size| size.unwrap_or(0)).collect(),
                expected: "one label for each sequence, where time steps are moved".into(),
                help: "leave time-shift and time-stretch out: each step has its own label",
            }
            .into());
        }
        Ok(())
    }
}

fn wrong_shape(found: Vec<usize>) -> TensorError {
    TensorError::Shape {
        name: TENSOR.into(),
        found,
        expected: "a sequence of features, [time, channels]".into(),
        help: "images have augmentations of their own, such as flip and crop",
    }
}

fn wrong_type(found: Option<DType>) -> TensorError {
    TensorError::Element {
        name: TENSOR.into(),
        found,
        expected: Some(DType::F32),
        help: "give bytes, integers or floating point, such as the counts of `encode::Bins`",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelShift, TimeShift, TimeStretch};
    use super::*;

    #[test]
    fn steps_with_labels_of_their_own_are_not_moved() {
        let x = Field::new(TENSOR, DType::U8, [5, 2]).sequence();
        let labels = Field::new("labels", DType::I64, [5]).sequence();
        let fields = [x, labels];
        let message = |checked: Result<()>| checked.expect_err("it moves steps").to_string();
        let shift = message(TimeShift { steps: 1 }.accepts(&fields));
        let stretch = message(TimeStretch { change: 0.1 }.accepts(&fields));
        assert!(shift.contains("one label for each sequence"), "{shift}");
        assert_eq!(shift, stretch);
        ChannelShift { channels: 1 }
            .accepts(&fields)
            .expect("it moves no steps");
    }
}
