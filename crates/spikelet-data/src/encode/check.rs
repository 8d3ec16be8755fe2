//! Checks of settings and samples.

use crate::encode_error::EncodeError;
use crate::error::Result;

/// Checks the range of a setting.
pub(super) fn check(
    encoder: &'static str,
    field: &'static str,
    value: f64,
    good: bool,
    expected: &'static str,
) -> Result<()> {
    if good {
        return Ok(());
    }
    Err(EncodeError::Range {
        encoder,
        field,
        value,
        expected,
    }
    .into())
}

/// The largest number of channels or units of an encoder.
const MAX_CHANNELS: usize = 1 << 24;

/// Checks a number of channels or units, whose state must fit into memory.
pub(super) fn check_count(encoder: &'static str, field: &'static str, count: usize) -> Result<()> {
    let good = (1..=MAX_CHANNELS).contains(&count);
    check(encoder, field, count as f64, good, "1 to 16777216")
}

/// Checks samples before any of them changes the state, and counts their time steps.
pub(super) fn check_samples(
    encoder: &'static str,
    samples: &[f32],
    channels: usize,
) -> Result<usize> {
    if !samples.len().is_multiple_of(channels) {
        return Err(EncodeError::Channels {
            encoder,
            samples: samples.len(),
            channels,
        }
        .into());
    }
    if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(EncodeError::NotFinite {
            encoder,
            index,
            value: samples[index],
        }
        .into());
    }
    Ok(samples.len() / channels)
}
