//! CutMix.
//!
//! Source: S. Yun, D. Han, S. Oh, S. Chun, J. Choe, Y. Yoo, *CutMix: regularization strategy to train strong classifiers
//! with localizable features*, arXiv:1905.04899 (2019).

use std::ops::Range;

use super::{IMAGES, beta, mixup, soft_labels};
use crate::batch::Batch;
use crate::error::Result;
use crate::field::Field;
use crate::sample_random::SampleRandom;
use crate::tensor_error::TensorError;
use crate::transform::BatchTransform;

/// Replaces one rectangle of each image of a batch by that of the image before it. The labels are mixed by area.
///
/// The rectangle has the area 1 − λ, with one λ from Beta(α, α) for the batch, and a random center; it is clipped at the
/// edges. `images` are f32, the last two axes height and width. `labels` become soft: from i64 `[N]` to f32
/// `[N, classes]`.
///
/// ```
/// use spikelet_data::{CutMix, DataLoader, LoaderConfig, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let loader = DataLoader::new(digits, LoaderConfig::default())?
///     .batch_transform(CutMix { alpha: 1.0, classes: 10 })?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert_eq!(batch.require("labels")?.shape, [100, 10]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CutMix {
    /// The parameter of the distribution, above 0; 1 in the paper.
    pub alpha: f32,
    /// The number of classes.
    pub classes: usize,
}

impl BatchTransform for CutMix {
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()> {
        let share = beta::draw(self.alpha, random);
        let (images, len, steps, shape) = soft_labels::images(batch)?;
        let &[_, .., height, width] = &shape[..] else {
            return Err(TensorError::Shape {
                name: IMAGES.into(),
                found: shape,
                expected: "[N, …, height, width]".into(),
                help: "use mixup for samples that are not images",
            }
            .into());
        };
        let half = 0.5 * (1.0 - share).sqrt();
        let columns = around(random.below(width), half * width as f32, width);
        let rows = around(random.below(height), half * height as f32, height);
        soft_labels::with_previous(images, len, steps, |own, previous| {
            let planes = own.chunks_exact_mut(height * width);
            for (own, previous) in planes.zip(previous.chunks_exact(height * width)) {
                for row in rows.clone() {
                    let cut = row * width + columns.start..row * width + columns.end;
                    own[cut.clone()].copy_from_slice(&previous[cut]);
                }
            }
        });
        let area = (rows.len() * columns.len()) as f32 / (height * width) as f32;
        soft_labels::mix(batch, self.classes, 1.0 - area)
    }

    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        mixup::check("cutmix", self.alpha, self.classes)?;
        soft_labels::fields(fields, self.classes)
    }
}

/// The pixels less than `half` from `center`, clipped to 0 … `end`.
fn around(center: usize, half: f32, end: usize) -> Range<usize> {
    let half = half as usize;
    center.saturating_sub(half)..(center + half).min(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_comes_from_the_image_before_and_labels_follow_its_area() {
        let side = 16;
        let pixels = side * side;
        let mix = CutMix {
            alpha: 1.0,
            classes: 3,
        };
        let mut areas = vec![];
        for first in 0..100 {
            let images = (0..3 * 2 * pixels).map(|k| (k / (2 * pixels)) as f32);
            let mut batch = Batch::of_images([2, side, side], images.collect(), vec![0, 1, 2]);
            let mut random = SampleRandom::of_batch(1, 0, first);
            mix.apply(&mut batch, &mut random).unwrap();
            let labels = batch.f32("labels").unwrap();
            for (k, image) in batch
                .f32("images")
                .unwrap()
                .chunks_exact(2 * pixels)
                .enumerate()
            {
                let previous = (k + 2) % 3;
                let replaced = image
                    .iter()
                    .filter(|&&pixel| pixel == previous as f32)
                    .count();
                let own = image.iter().filter(|&&pixel| pixel == k as f32).count();
                assert_eq!(own + replaced, 2 * pixels);
                assert_eq!(image[..pixels], image[pixels..]);
                let area = replaced as f32 / (2 * pixels) as f32;
                assert_eq!(labels[3 * k + previous], 1.0 - (1.0 - area));
                assert_eq!(labels[3 * k + k], 1.0 - area);
                areas.push(area);
            }
        }
        let mean = areas.iter().sum::<f32>() / areas.len() as f32;
        // Without clipping and rounding the mean would be ½.
        assert!((0.2..0.5).contains(&mean), "{mean}");
    }
}
