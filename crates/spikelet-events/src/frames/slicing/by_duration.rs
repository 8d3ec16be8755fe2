//! Frames of a fixed duration.

use std::ops::Range;

use super::{Slicer, check_sorted, first_at, slice_count};
use crate::Result;
use crate::settings::{Field, Settings, check};

/// Frames of a fixed duration from the first event; their number differs between recordings.
///
/// There are ⌈(last time − first time) / `duration`⌉ frames, at least one; the last one has the event at its very end.
///
/// ```
/// use spikelet_events::frames::{ByDuration, Slicing};
///
/// let slicing = Slicing::from(ByDuration { duration: 10 });
/// assert_eq!(slicing.slices(&[5, 14, 15, 25])?, [0..2, 2..4]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: SpikingJelly 2.0.0, `integrate_events_by_fixed_duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByDuration {
    /// The duration in microseconds.
    pub duration: u64,
}

impl Default for ByDuration {
    /// 50 ms.
    fn default() -> Self {
        Self { duration: 50_000 }
    }
}

impl Settings for ByDuration {
    const NAME: &'static str = "duration";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("duration", &mut self.duration)]
    }
}

impl Slicer for ByDuration {
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let expected = "microseconds, at least 1";
        check(
            self.duration > 0,
            Self::NAME,
            "duration",
            self.duration,
            expected,
        )?;
        check_sorted(Self::NAME, t)?;
        let (first, last) = t.first().zip(t.last()).unwrap_or((&0, &0));
        let (first, duration) = (i128::from(*first), i128::from(self.duration));
        let covered = (i128::from(*last) - first + duration - 1) / duration;
        let frames = slice_count(Self::NAME, covered)?.max(1);
        let bound = |k: usize| first_at(t, first + k as i128 * duration);
        let mut slices: Vec<_> = (0..frames).map(|k| bound(k)..bound(k + 1)).collect();
        slices[frames - 1].end = t.len();
        Ok(slices)
    }
}
