//! Counts of events in time steps.

use super::check::check;
use super::{EncodeError, SpikeEvents};
use crate::error::Result;

/// Counts the events of an encoder into the time steps and inputs of a network.
///
/// An event at time t of unit u counts in step `t / step_samples` and column `u / group`, both rounded down. Events after
/// the last step are left out.
///
/// ```
/// use spikelet_data::encode::{Bins, SpikeEvents};
///
/// let events = SpikeEvents { time: vec![0, 5, 9, 10, 99], unit: vec![0, 1, 3, 2, 0] };
/// let bins = Bins { steps: 2, step_samples: 10, group: 2, binary: false };
/// assert_eq!(bins.count(&events, 4)?, [2.0, 1.0, 0.0, 1.0]); // [2 steps, 2 groups]
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// The number of time steps.
    pub steps: usize,
    /// The samples of a time step.
    pub step_samples: usize,
    /// The neighboring units that are one column.
    pub group: usize,
    /// Whether a count is at most 1.
    pub binary: bool,
}

impl Default for Bins {
    /// 100 steps of 80 samples, 10 ms at 8 kHz; each unit is a column; counts.
    fn default() -> Self {
        Self {
            steps: 100,
            step_samples: 80,
            group: 1,
            binary: false,
        }
    }
}

impl Bins {
    /// The counts, `[steps, units / group]`, for an encoder of `units` units.
    ///
    /// # Errors
    /// [`EncodeError::Range`] if `steps`, `step_samples`, `group` or `units` is 0; [`EncodeError::Group`] if `group` does
    /// not divide `units`; [`EncodeError::Unit`] if an event has another unit; [`EncodeError::BinsTooLarge`].
    pub fn count(&self, events: &SpikeEvents, units: usize) -> Result<Vec<f32>> {
        let sizes = [
            ("steps", self.steps),
            ("step_samples", self.step_samples),
            ("group", self.group),
            ("units", units),
        ];
        for (field, size) in sizes {
            check("bins", field, size as f64, size > 0, "at least 1")?;
        }
        if !units.is_multiple_of(self.group) {
            return Err(EncodeError::Group {
                units,
                group: self.group,
            }
            .into());
        }
        let columns = units / self.group;
        let too_large = EncodeError::BinsTooLarge {
            steps: self.steps,
            columns,
        };
        let Some(len) = self.steps.checked_mul(columns) else {
            return Err(too_large.into());
        };
        let mut counts = Vec::new();
        if counts.try_reserve_exact(len).is_err() {
            return Err(too_large.into());
        }
        counts.resize(len, 0.0_f32);
        for (index, (time, unit)) in events.time.iter().zip(&events.unit).enumerate() {
            if *unit as usize >= units {
                return Err(EncodeError::Unit {
                    index,
                    unit: *unit,
                    units,
                }
                .into());
            }
            let step = time / self.step_samples as u64;
            if step < self.steps as u64 {
                let count = &mut counts[step as usize * columns + *unit as usize / self.group];
                *count = if self.binary { 1.0 } else { *count + 1.0 };
            }
        }
        Ok(counts)
    }
}
