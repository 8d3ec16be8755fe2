//! Events of an encoder.

use super::EncodeError;
use crate::error::Result;
use crate::events::Events;

/// Events of an encoder, ordered by time, then unit. Both columns have the same length.
///
/// ```
/// use spikelet_data::encode::SpikeEvents;
///
/// let events = SpikeEvents { time: vec![0, 12], unit: vec![3, 1] };
/// assert_eq!(events.len(), 2);
/// assert_eq!(events.to_events(8000)?.t.to_vec(), [0, 1500]); // microseconds
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpikeEvents {
    /// Times in samples of the signal, from 0.
    pub time: Vec<u64>,
    /// The units that fire.
    pub unit: Vec<u32>,
}

impl SpikeEvents {
    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time.len().min(self.unit.len())
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all events and keeps the memory, for the next chunk of a stream.
    pub fn clear(&mut self) {
        self.time.clear();
        self.unit.clear();
    }

    /// The same events for a field of events: times in microseconds, rounded down; the unit in `x`, 0 in `y`, 1 in `p`.
    ///
    /// # Errors
    /// [`EncodeError::Range`] if the sample rate is 0; [`EncodeError::Unit`] if a unit is 65536 or larger.
    pub fn to_events(&self, sample_rate: u32) -> Result<Events<'static>> {
        let expected = "the samples of a second, at least 1";
        super::check::check(
            "events",
            "sample_rate",
            f64::from(sample_rate),
            sample_rate > 0,
            expected,
        )?;
        let micros = |time: &u64| {
            let time = u128::from(*time) * 1_000_000 / u128::from(sample_rate);
            i64::try_from(time).unwrap_or(i64::MAX)
        };
        let column = |(index, unit): (usize, &u32)| {
            let units = usize::from(u16::MAX) + 1;
            u16::try_from(*unit).map_err(|_| EncodeError::Unit {
                index,
                unit: *unit,
                units,
            })
        };
        let len = self.len();
        let x = self.unit[..len].iter().enumerate().map(column);
        Ok(Events {
            t: self.time[..len].iter().map(micros).collect(),
            x: x.collect::<Result<Vec<u16>, _>>()?.into(),
            y: vec![0; len].into(),
            p: vec![1; len].into(),
        })
    }

    /// Appends an event.
    pub(super) fn push(&mut self, time: u64, unit: usize) {
        self.time.push(time);
        self.unit.push(unit as u32);
    }
}
