//! MixUp.
//!
//! Source: H. Zhang, M. Cisse, Y. Dauphin, D. Lopez-Paz, *mixup: beyond empirical risk minimization*,
//! arXiv:1710.09412 (2017).

use super::{beta, soft_labels};
use crate::augment::transform::check_range;
use crate::batch::Batch;
use crate::error::Result;
use crate::field::Field;
use crate::sample_random::SampleRandom;
use crate::transform::BatchTransform;

/// Mixes each sample of a batch with the one before it: λ · own + (1 − λ) · previous, with one λ from Beta(α, α) for
/// the batch.
///
/// `images` are f32 of any shape. `labels` become soft: from i64 `[N]` to f32 `[N, classes]`.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, MixUp, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let loader = DataLoader::new(digits, LoaderConfig::default())?
///     .batch_transform(MixUp { alpha: 0.2, classes: 10 })?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert_eq!(batch.require("labels")?.shape, [100, 10]);
/// assert!((batch.f32("labels")?[..10].iter().sum::<f32>() - 1.0).abs() < 1e-6);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MixUp {
    /// The parameter of the distribution, above 0; 0.2 for ImageNet in the paper, 1 for CIFAR-10.
    pub alpha: f32,
    /// The number of classes.
    pub classes: usize,
}

impl BatchTransform for MixUp {
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()> {
        let share = beta::draw(self.alpha, random);
        let (images, len, steps, _) = soft_labels::images(batch)?;
        soft_labels::mix_with_previous(images, len, steps, share);
        soft_labels::mix(batch, self.classes, share)
    }

    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        check("mixup", self.alpha, self.classes)?;
        soft_labels::fields(fields, self.classes)
    }
}

/// Checks the settings of a mixture.
pub(super) fn check(name: &'static str, alpha: f32, classes: usize) -> Result<()> {
    let good = alpha > 0.0 && alpha.is_finite();
    check_range(name, "alpha", alpha.into(), good, "above 0 and finite")?;
    let good = (1..=1 << 24).contains(&classes);
    check_range(name, "classes", classes as f64, good, "1 to 2^24")
}

#[cfg(test)]
mod tests {
    use super::super::three_images as batch;
    use super::*;
    use crate::batch::BatchTensor;

    #[test]
    fn images_and_labels_are_mixed_by_the_same_share() {
        let mix = MixUp {
            alpha: 1.0,
            classes: 3,
        };
        let random = SampleRandom::of_batch(1, 0, 0);
        let share = beta::draw(1.0, &mut random.clone());
        let mut mixed = batch();
        mix.apply(&mut mixed, &mut random.clone()).unwrap();
        let plain = batch();
        let plain = plain.f32("images").unwrap();
        for (k, &value) in mixed.f32("images").unwrap().iter().enumerate() {
            let previous = plain[(k + 8) % 12];
            assert_eq!(value, share * plain[k] + (1.0 - share) * previous);
        }
        let rest = 1.0 - share;
        let expected = [0.0, rest, share, share, 0.0, rest, rest, share, 0.0];
        assert_eq!(mixed.f32("labels").unwrap(), expected);

        // Soft labels are mixed again, as by CutMix after MixUp.
        mix.apply(&mut mixed, &mut random.clone()).unwrap();
        for row in mixed.f32("labels").unwrap().chunks_exact(3) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn every_time_step_of_a_sequence_is_mixed_alike() {
        let mix = MixUp {
            alpha: 1.0,
            classes: 3,
        };
        let mut still = batch();
        let images = still.f32("images").unwrap();
        let frames = [images, images].concat();
        let frames = BatchTensor::f32(&[2, 3, 1, 2, 2], frames).sequence();
        let mut sequence = batch().with("images", frames);
        let random = SampleRandom::of_batch(1, 0, 0);
        mix.apply(&mut still, &mut random.clone()).unwrap();
        mix.apply(&mut sequence, &mut random.clone()).unwrap();
        let still = still.f32("images").unwrap();
        assert_eq!(sequence.f32("images").unwrap(), [still, still].concat());
    }

    #[test]
    fn a_label_that_is_not_a_class_is_refused() {
        let mix = MixUp {
            alpha: 1.0,
            classes: 2,
        };
        let error = mix.apply(&mut batch(), &mut SampleRandom::of_batch(1, 0, 0));
        assert!(error.unwrap_err().to_string().contains("label 2"));
    }
}
