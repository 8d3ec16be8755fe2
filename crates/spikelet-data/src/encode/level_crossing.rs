//! Crossings of evenly spaced levels.

use super::check::{check, check_count, check_samples};
use super::{SignalEncoder, SpikeEvents};
use crate::error::Result;

/// The reference level of a channel after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceLevel {
    /// It moves by one step for each event, up to `max_events` of them in a sample: a level-crossing converter. A signal
    /// that rises or falls faster is followed in the samples after.
    Step {
        /// The most events of a channel in one sample.
        max_events: u32,
    },
    /// It jumps to the sample: one event for any change, send-on-delta sampling.
    Sample,
}

/// Level crossing: an event each time a channel has moved by `step` from its reference level, which then follows.
///
/// Unit `2c` fires where channel c is at least a step above its reference level (ON); unit `2c + 1` where it is at least
/// a step below (OFF). The first sample is the first reference level. Levels are multiples of the step from there, without
/// rounding errors that add up: ON events minus OFF events, times the step, is the signal within one step, as long as it
/// does not change by more than `max_events` steps a sample.
///
/// ```
/// use spikelet_data::encode::{LevelCrossing, ReferenceLevel, SignalEncoder};
///
/// let x = [0.0, 0.6, 2.5, 2.5, 1.4];
/// let mut encoder = LevelCrossing::new(1, 1.0)?; // at most one event a sample
/// let events = encoder.encode(&x)?;
/// assert_eq!((events.time, events.unit), (vec![2, 3], vec![0, 0]));
///
/// let mut encoder = LevelCrossing::new(1, 1.0)?.reference(ReferenceLevel::Sample)?;
/// let events = encoder.encode(&x)?;
/// assert_eq!((events.time, events.unit), (vec![2, 4], vec![0, 1]));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Sources: Sayiner, Sorensen and Viswanathan, A level-crossing sampling scheme for A/D conversion, 1996 (`Step`);
/// Miskowicz, Send-on-delta concept: an event-based data reporting strategy, 2006 (`Sample`).
#[derive(Clone, Debug)]
pub struct LevelCrossing {
    step: f64,
    reference: ReferenceLevel,
    time: u64,
    /// The sample from which levels are counted, and the level, for each channel.
    levels: Vec<(f64, i64)>,
}

impl LevelCrossing {
    /// An encoder of `channels` channels; the step has the unit of the samples. At most one event a channel and sample.
    ///
    /// # Errors
    /// [`EncodeError::Range`](super::EncodeError::Range) if there are no channels or the step is not above 0.
    pub fn new(channels: usize, step: f32) -> Result<Self> {
        let name = "level-crossing";
        check_count(name, "channels", channels)?;
        let good = step > 0.0 && step.is_finite();
        check(name, "step", f64::from(step), good, "finite and above 0")?;
        Ok(Self {
            step: f64::from(step),
            reference: ReferenceLevel::Step { max_events: 1 },
            time: 0,
            levels: vec![(0.0, 0); channels],
        })
    }

    /// Sets how the reference level follows the signal.
    ///
    /// # Errors
    /// [`EncodeError::Range`](super::EncodeError::Range) if `max_events` is 0.
    pub fn reference(mut self, reference: ReferenceLevel) -> Result<Self> {
        if let ReferenceLevel::Step { max_events } = reference {
            let good = max_events > 0;
            check(
                "level-crossing",
                "max_events",
                f64::from(max_events),
                good,
                "at least 1",
            )?;
        }
        self.reference = reference;
        Ok(self)
    }
}

impl SignalEncoder for LevelCrossing {
    fn channels(&self) -> usize {
        self.levels.len()
    }

    fn units(&self) -> usize {
        2 * self.levels.len()
    }

    fn push(&mut self, samples: &[f32], events: &mut SpikeEvents) -> Result<()> {
        check_samples("level-crossing", samples, self.levels.len())?;
        for row in samples.chunks_exact(self.levels.len()) {
            for (channel, (x, (origin, level))) in row.iter().zip(&mut self.levels).enumerate() {
                let x = f64::from(*x);
                if self.time == 0 {
                    *origin = x;
                }
                let change = x - *origin;
                match self.reference {
                    ReferenceLevel::Step { max_events } => {
                        for _ in 0..max_events {
                            if change >= (*level + 1) as f64 * self.step {
                                *level += 1;
                                events.push(self.time, 2 * channel);
                            } else if change <= (*level - 1) as f64 * self.step {
                                *level -= 1;
                                events.push(self.time, 2 * channel + 1);
                            } else {
                                break;
                            }
                        }
                    }
                    ReferenceLevel::Sample => {
                        if change.abs() >= self.step {
                            events.push(self.time, 2 * channel + usize::from(change < 0.0));
                            *origin = x;
                        }
                    }
                }
            }
            self.time += 1;
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.time = 0;
        self.levels.fill((0.0, 0));
    }
}
