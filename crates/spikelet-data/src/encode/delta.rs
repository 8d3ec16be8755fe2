//! Changes from sample to sample.

use super::check::{check, check_count, check_samples};
use super::{SignalEncoder, SpikeEvents};
use crate::error::Result;

/// The value with which the first sample of a recording is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstSample {
    /// 0.
    #[default]
    Zero,
    /// The first sample itself: it causes no event.
    Itself,
}

/// Delta encoding: an event where a channel changes by at least `threshold` from one sample to the next.
///
/// Unit `2c` fires where channel c rises, `x[t] − x[t−1] ≥ threshold` (ON); unit `2c + 1` where it falls,
/// `x[t] − x[t−1] ≤ −threshold` (OFF). Slow changes cause no event; [`LevelCrossing`](super::LevelCrossing) follows them.
///
/// ```
/// use spikelet_data::encode::{Delta, SignalEncoder};
///
/// let mut encoder = Delta::new(1, 1.0)?;
/// let events = encoder.encode(&[1.0, 2.0, 0.0, 2.0, 2.9])?;
/// assert_eq!((events.time, events.unit), (vec![0, 1, 2, 3], vec![0, 0, 1, 0]));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Source: snnTorch 1.0, `spikegen.delta` with `off_spike=True`; its `padding=True` is [`FirstSample::Itself`].
#[derive(Clone, Debug)]
pub struct Delta {
    threshold: f32,
    first: FirstSample,
    time: u64,
    last: Vec<f32>,
}

impl Delta {
    /// An encoder of `channels` channels; the threshold has the unit of the samples.
    ///
    /// # Errors
    /// [`EncodeError::Range`](super::EncodeError::Range) if there are no channels or the threshold is not above 0.
    pub fn new(channels: usize, threshold: f32) -> Result<Self> {
        check_count("delta", "channels", channels)?;
        let good = threshold > 0.0 && threshold.is_finite();
        check(
            "delta",
            "threshold",
            f64::from(threshold),
            good,
            "finite and above 0",
        )?;
        Ok(Self {
            threshold,
            first: FirstSample::default(),
            time: 0,
            last: vec![0.0; channels],
        })
    }

    /// Sets the value with which the first sample is compared.
    #[must_use]
    pub fn first_sample(mut self, first: FirstSample) -> Self {
        self.first = first;
        self
    }
}

impl SignalEncoder for Delta {
    fn channels(&self) -> usize {
        self.last.len()
    }

    fn units(&self) -> usize {
        2 * self.last.len()
    }

    fn push(&mut self, samples: &[f32], events: &mut SpikeEvents) -> Result<()> {
        check_samples("delta", samples, self.last.len())?;
        for row in samples.chunks_exact(self.last.len()) {
            if self.time == 0 && self.first == FirstSample::Itself {
                self.last.copy_from_slice(row);
            }
            for (channel, (x, last)) in row.iter().zip(&mut self.last).enumerate() {
                let change = x - *last;
                if change >= self.threshold {
                    events.push(self.time, 2 * channel);
                } else if change <= -self.threshold {
                    events.push(self.time, 2 * channel + 1);
                }
                *last = *x;
            }
            self.time += 1;
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.time = 0;
        self.last.fill(0.0);
    }
}
