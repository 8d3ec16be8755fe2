//! Frames of a fixed duration.

use std::ops::Range;

use super::{DeviceSlicing, Slicing, check_sorted, first_at, slice_count};
use crate::Result;
use crate::frames::FrameEnd;
use spikelet_schema::Schema;

/// Frames of a fixed duration from the first event; their number differs between recordings.
///
/// There are ⌈(last time − first time) / `duration`⌉ frames, at least one; the last one has the event at its very end.
///
/// ```
/// use spikelet_events::frames::{ByDuration, Slicing};
///
/// let slicing = ByDuration { duration: 10 };
/// assert_eq!(slicing.slices(&[5, 14, 15, 25])?, [0..2, 2..4]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: SpikingJelly 2.0.0, `integrate_events_by_fixed_duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "duration")]
pub struct ByDuration {
    /// The duration in microseconds.
    #[schema(main, default = 50_000, at_least = 1)]
    pub duration: u64,
}

impl Slicing for ByDuration {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        check_sorted(Self::DECLARATION.name, t)?;
        let (first, last) = t.first().zip(t.last()).unwrap_or((&0, &0));
        let (first, duration) = (i128::from(*first), i128::from(self.duration));
        let covered = (i128::from(*last) - first + duration - 1) / duration;
        let frames = slice_count(Self::DECLARATION.name, covered)?.max(1);
        let bound = |k: usize| first_at(t, first + k as i128 * duration);
        let mut slices: Vec<_> = (0..frames).map(|k| bound(k)..bound(k + 1)).collect();
        slices[frames - 1].end = t.len();
        Ok(slices)
    }

    fn on_device(&self) -> Option<DeviceSlicing> {
        Some(DeviceSlicing::Duration(self.duration))
    }

    fn end_in_stream(&self) -> Option<FrameEnd> {
        Some(FrameEnd::Duration(self.duration))
    }
}
