//! Integer samples.

/// Samples of 16 bits as numbers from −1 to 1, without rounding: `sample / 32768`.
///
/// ```
/// assert_eq!(spikelet_data::encode::pcm16(&[-32768, 0, 16384]), [-1.0, 0.0, 0.5]);
/// ```
#[must_use]
pub fn pcm16(samples: &[i16]) -> Vec<f32> {
    let scaled = samples.iter().map(|sample| f32::from(*sample) / 32768.0);
    scaled.collect()
}
