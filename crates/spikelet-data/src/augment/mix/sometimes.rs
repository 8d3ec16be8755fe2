//! A mixture of some batches only.
//!
//! Source: the options `mixup_prob` and `mixup_off_epoch` of R. Wightman, *PyTorch image models* (timm).

use super::mixup::check;
use super::soft_labels;
use crate::augment::transform::check_range;
use crate::batch::Batch;
use crate::error::Result;
use crate::field::Field;
use crate::sample_random::SampleRandom;
use crate::transform::BatchTransform;
use std::sync::Arc;

/// Applies a mixture to a batch with a probability, and in the first epochs only. The labels of the other batches become
/// soft without a change, so that all batches have the same fields.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{DataLoader, LoaderConfig, MixSometimes, MixUp, synthetic};
///
/// let mixture = Arc::new(MixUp { alpha: 0.5, classes: 10 });
/// let mix = MixSometimes { mixture, classes: 10, probability: 0.5, epochs: Some(200) };
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let loader = DataLoader::new(digits, LoaderConfig::default())?.batch_transform(mix)?;
/// let late = loader.epoch(200, 0).next().expect("an epoch has a batch")?;
/// assert!(late.f32("labels")?.iter().all(|p| [0.0, 1.0].contains(p)));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MixSometimes {
    /// The mixture.
    pub mixture: Arc<dyn BatchTransform>,
    /// The number of classes.
    pub classes: usize,
    /// The probability that a batch is mixed, 0 to 1.
    pub probability: f32,
    /// The number of epochs in which batches are mixed; all by default.
    pub epochs: Option<usize>,
}

impl BatchTransform for MixSometimes {
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()> {
        let early = self
            .epochs
            .is_none_or(|epochs| random.epoch() < epochs as u64);
        match early && random.chance(self.probability) {
            true => self.mixture.apply(batch, random),
            false => soft_labels::mix(batch, self.classes, 1.0),
        }
    }

    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        check("mixture", 1.0, self.classes)?;
        let good = (0.0..=1.0).contains(&self.probability);
        let probability = f64::from(self.probability);
        check_range("mixture", "probability", probability, good, "0 to 1")?;
        let own = soft_labels::fields(fields.clone(), self.classes)?;
        match self.mixture.fields(fields)? == own {
            true => Ok(own),
            false => Err(crate::Error::custom(format!(
                "`MixSometimes`: {:?} gives other fields than images with soft labels of {} classes\n  \
                 help: use a mixture of images and labels for as many classes",
                self.mixture, self.classes
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::mix::{MixUp, three_images as batch};
    use spikelet_expr::DType;

    #[test]
    fn batches_are_mixed_with_the_probability_and_in_the_first_epochs() {
        let mixes = |epoch, first| {
            let mix = MixSometimes {
                mixture: Arc::new(MixUp {
                    alpha: 1.0,
                    classes: 3,
                }),
                classes: 3,
                probability: 0.25,
                epochs: Some(2),
            };
            let mut mixed = batch();
            mix.apply(&mut mixed, &mut SampleRandom::of_batch(1, epoch, first))
                .unwrap();
            assert_eq!(mixed.f32("labels").unwrap().len(), 9);
            mixed.f32("images").unwrap() != batch().f32("images").unwrap()
        };
        let early = (0..400).filter(|&first| mixes(1, first)).count();
        assert!((70..130).contains(&early), "{early} of 400");
        assert!((0..400).all(|first| !mixes(2, first)));
    }

    #[test]
    fn a_probability_above_1_and_other_classes_are_refused() {
        let mix = |probability, classes| MixSometimes {
            mixture: Arc::new(MixUp {
                alpha: 1.0,
                classes: 3,
            }),
            classes,
            probability,
            epochs: None,
        };
        let fields = || {
            vec![
                Field::new("images", DType::F32, [1, 2, 2]),
                Field::new("labels", DType::I64, []),
            ]
        };
        assert!(mix(1.0, 3).fields(fields()).is_ok());
        for (probability, classes, part) in [(1.5, 3, "probability"), (0.5, 4, "4 classes")] {
            let error = mix(probability, classes).fields(fields()).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
