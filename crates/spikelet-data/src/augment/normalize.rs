//! Normalization of pixels to mean 0 and standard deviation 1.

use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, image_shape};
use crate::error::{Error, Result};

/// The normalization of each channel, (pixel − mean) / std, where pixels are 0 (black) to 1 (white).
///
/// A single value is used for all channels.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, Normalize, synthetic};
///
/// let config = LoaderConfig {
///     normalize: Some(Normalize { mean: vec![0.13], std: vec![0.31] }),
///     ..LoaderConfig::default()
/// };
/// let loader = DataLoader::new(synthetic::digits_of(1, 100, 10).train, config)?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert!(batch.f32("images")?.contains(&((0.0 - 0.13) / 0.31)));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalize {
    /// Mean of each channel.
    pub mean: Vec<f32>,
    /// Standard deviation of each channel.
    pub std: Vec<f32>,
}

impl Normalize {
    /// The mean and standard deviation of ImageNet with which published networks are trained; for one channel, their means.
    ///
    /// ```
    /// use spikelet_data::Normalize;
    /// assert_eq!(Normalize::imagenet(3).mean, [0.485, 0.456, 0.406]);
    /// assert_eq!(Normalize::imagenet(1).std, [0.226]);
    /// ```
    #[must_use]
    pub fn imagenet(channels: usize) -> Self {
        match channels {
            3 => Self {
                mean: vec![0.485, 0.456, 0.406],
                std: vec![0.229, 0.224, 0.225],
            },
            _ => Self {
                mean: vec![0.449],
                std: vec![0.226],
            },
        }
    }

    /// Checks that the number of values is 1 or the number of channels, that all means are finite, and that all standard
    /// deviations are finite and above 0. [`DataLoader`](crate::DataLoader) calls it.
    ///
    /// # Errors
    /// [`Error::NormalizeLength`] or [`Error::NormalizeValue`].
    pub fn check(&self, channels: usize) -> Result<()> {
        for (field, values) in [("mean", &self.mean), ("std", &self.std)] {
            if values.len() != 1 && values.len() != channels {
                return Err(Error::NormalizeLength {
                    field,
                    found: values.len(),
                    channels,
                });
            }
            let good = |value: f32| value.is_finite() && (field == "mean" || value > 0.0);
            if let Some(&value) = values.iter().find(|&&value| !good(value)) {
                return Err(Error::NormalizeValue { field, value });
            }
        }
        Ok(())
    }

    /// The mean and standard deviation of each channel over the images of all samples, of one shape, where white is 1. The sums are
    /// exact: they are integers.
    ///
    /// ```
    /// use spikelet_data::{Normalize, synthetic};
    /// let normalize = Normalize::of_images(&*synthetic::digits_of(1, 100, 10).train)?;
    /// assert!(normalize.check(1).is_ok() && normalize.mean[0] < 0.5);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`image_shape`]; if a sample cannot be read.
    pub fn of_images(dataset: &dyn Dataset) -> Result<Self> {
        let [channels, height, width] = image_shape(dataset)?;
        let mut sums = vec![[0_u64; 2]; channels];
        for index in 0..dataset.len() {
            let sample = dataset.sample(index)?;
            let pixels = sample.require("images")?.as_u8().unwrap_or_default();
            for (sum, plane) in sums.iter_mut().zip(pixels.chunks_exact(height * width)) {
                sum[0] += plane.iter().map(|&x| u64::from(x)).sum::<u64>();
                sum[1] += plane.iter().map(|&x| u64::from(x).pow(2)).sum::<u64>();
            }
        }
        let count = (dataset.len() * height * width).max(1) as u64;
        let white = 255.0 * count as f64;
        // n·Σx² − (Σx)² is n²·255² times the variance.
        let spread = |[sum, squares]: [u64; 2]| {
            let squares = u128::from(count) * u128::from(squares);
            squares.saturating_sub(u128::from(sum).pow(2)) as f64
        };
        let std = sums.iter().map(|&s| (spread(s).sqrt() / white) as f32);
        Ok(Self {
            mean: sums.iter().map(|s| (s[0] as f64 / white) as f32).collect(),
            std: std.collect(),
        })
    }

    /// The mean and standard deviation of a channel, after the check.
    pub(super) fn of_channel(&self, channel: usize) -> (f32, f32) {
        let pick = |values: &[f32]| values[channel.min(values.len() - 1)];
        (pick(&self.mean), pick(&self.std))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::InMemory;

    #[test]
    fn mean_and_deviation_of_images_are_those_of_their_pixels() {
        let classes = vec!["only".to_string()];
        // Two images of two channels with two pixels each.
        let images = vec![0, 255, 10, 10, 255, 0, 20, 20];
        let data = InMemory::images("two", images, vec![0, 0], [2, 1, 2], classes).expect("sound");
        let found = Normalize::of_images(&data).expect("images");
        assert_eq!(found.mean, [0.5, (15.0 / 255.0) as f32]);
        assert_eq!(found.std, [0.5, (5.0 / 255.0) as f32]);
    }
}
