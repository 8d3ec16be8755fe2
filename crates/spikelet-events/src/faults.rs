//! What was wrong in a recording and could be handled.

use std::collections::BTreeMap;
use std::fmt;

/// A known fault of recordings that does not stop a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// Records that mark an overflow of the time (ATIS, row 240): no events, later times are 8,192 µs larger.
    OverflowRecords,
    /// Events that the camera marked as invalid (AEDAT 3), which are left out.
    InvalidEvents,
    /// Records other than events: images, IMU samples, special and exposure events, which are skipped.
    OtherRecords,
    /// Events before the first time, or row, of EVT2, EVT2.1 and EVT3: the recording does not begin with a time.
    EventsBeforeTime,
    /// Events in rows below the sensor (EVT3).
    RowsOutside,
    /// Words of types that the format does not define.
    UnknownWords,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OverflowRecords => "overflow records of the time, which are no events",
            Self::InvalidEvents => "events marked as invalid, which were left out",
            Self::OtherRecords => "records other than events, which were skipped",
            Self::EventsBeforeTime => "events before the first time or row, left out",
            Self::RowsOutside => "events in rows outside the sensor, left out",
            Self::UnknownWords => "words of unknown types, skipped",
        })
    }
}

/// The numbers of faults of each kind.
///
/// ```
/// use spikelet_events::{Fault, Faults};
///
/// let mut faults = Faults::default();
/// faults.add(Fault::OverflowRecords, 2);
/// assert_eq!(faults.to_string(), "2 overflow records of the time, which are no events");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(BTreeMap<Fault, u64>);

impl Faults {
    /// Counts faults of a kind.
    pub fn add(&mut self, fault: Fault, count: u64) {
        if count > 0 {
            *self.0.entry(fault).or_default() += count;
        }
    }

    /// The number of faults of a kind.
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or(0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds that occurred, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        self.0.iter().map(|(&fault, &count)| (fault, count))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self
            .iter()
            .map(|(fault, n)| format!("{n} {fault}"))
            .collect();
        f.write_str(&texts.join("; "))
    }
}
