//! Slices of a number of events.

use std::ops::Range;

use super::{Slicer, slice_count};
use crate::Result;
use crate::settings::{Field, Settings, check};

/// Slices of `events` events that may overlap; one slice of all events if there are fewer.
///
/// ```
/// use spikelet_events::frames::{EventCounts, Slicing};
///
/// let counts = EventCounts { events: 2, include_incomplete: true, ..EventCounts::default() };
/// assert_eq!(Slicing::from(counts).slices(&[0, 1, 2])?, [0..2, 2..3]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByEventCount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCounts {
    /// The events of a slice.
    pub events: usize,
    /// The events that neighboring slices share, below `events`.
    pub overlap: usize,
    /// Whether the remaining events are a slice.
    pub include_incomplete: bool,
}

impl Default for EventCounts {
    /// 1000 events without overlap.
    fn default() -> Self {
        Self {
            events: 1000,
            overlap: 0,
            include_incomplete: false,
        }
    }
}

impl Settings for EventCounts {
    const NAME: &'static str = "event-counts";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("events", &mut self.events),
            ("overlap", &mut self.overlap),
            ("include_incomplete", &mut self.include_incomplete),
        ]
    }
}

impl Slicer for EventCounts {
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        check(
            self.events > 0,
            Self::NAME,
            "events",
            self.events,
            "at least 1",
        )?;
        let is_part = self.overlap < self.events;
        check(
            is_part,
            Self::NAME,
            "overlap",
            self.overlap,
            "less than events",
        )?;
        let events = self.events.min(t.len());
        let stride = self.events - self.overlap;
        let rest = t.len() - events;
        let more = if self.include_incomplete {
            rest.div_ceil(stride)
        } else {
            rest / stride
        };
        let count = slice_count(Self::NAME, more as i128 + 1)?;
        let starts = (0..count).map(|k| k * stride);
        Ok(starts
            .map(|from| from..(from + events).min(t.len()))
            .collect())
    }
}
