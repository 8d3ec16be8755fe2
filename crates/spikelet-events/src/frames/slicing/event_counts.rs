//! Slices of a number of events.

use std::ops::Range;

use super::{Slicing, slice_count};
use crate::Result;
use crate::frames::FrameEnd;
use crate::settings::check;
use spikelet_schema::Schema;

/// Slices of `events` events that may overlap; one slice of all events if there are fewer.
///
/// ```
/// use spikelet_events::frames::{EventCounts, Slicing};
///
/// let counts = EventCounts { events: 2, include_incomplete: true, ..EventCounts::default() };
/// assert_eq!(counts.slices(&[0, 1, 2])?, [0..2, 2..3]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByEventCount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(check = Slicing::fits)]
pub struct EventCounts {
    /// The events of a slice.
    #[schema(main, default = 1000, at_least = 1)]
    pub events: usize,
    /// The events that neighboring slices share, below `events`.
    #[schema(default = 0)]
    pub overlap: usize,
    /// Whether the remaining events are a slice.
    pub include_incomplete: bool,
}

impl Slicing for EventCounts {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let events = self.events.min(t.len());
        let stride = self.events - self.overlap;
        let rest = t.len() - events;
        let more = if self.include_incomplete {
            rest.div_ceil(stride)
        } else {
            rest / stride
        };
        let count = slice_count(Self::DECLARATION.name, more as i128 + 1)?;
        let starts = (0..count).map(|k| k * stride);
        Ok(starts
            .map(|from| from..(from + events).min(t.len()))
            .collect())
    }

    fn fits(&self) -> Result<()> {
        let (of, fits) = (Self::DECLARATION.name, self.overlap < self.events);
        check(fits, of, "overlap", self.overlap, "less than events")
    }

    fn end_in_stream(&self) -> Option<FrameEnd> {
        (self.overlap == 0).then_some(FrameEnd::Events(self.events))
    }
}
