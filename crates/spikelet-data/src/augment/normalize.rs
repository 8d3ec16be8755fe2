//! Normalization of pixels to mean 0 and standard deviation 1.

use serde::{Deserialize, Serialize};

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

    /// The mean and standard deviation of a channel, after the check.
    pub(super) fn of_channel(&self, channel: usize) -> (f32, f32) {
        let pick = |values: &[f32]| values[channel.min(values.len() - 1)];
        (pick(&self.mean), pick(&self.std))
    }
}
