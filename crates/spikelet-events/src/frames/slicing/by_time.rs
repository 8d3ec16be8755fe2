//! A fixed number of frames of the same duration.

use std::ops::Range;

use super::{DeviceSlicing, Slicing, check_sorted, first_at, slice_count};
use crate::Result;
use spikelet_schema::Schema;

/// A fixed number of frames of d = ⌊(last time − first time) / `frames`⌋ microseconds each; the last frame has all later
/// events as well.
///
/// A frame without events is empty. With d = 0 all events are in the last frame.
///
/// ```
/// use spikelet_events::frames::{ByTime, Slicing};
///
/// let slicing = ByTime { frames: 2 };
/// assert_eq!(slicing.slices(&[0, 1, 2, 3, 11])?, [0..4, 4..5]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: SpikingJelly 2.0.0, `integrate_events_by_fixed_frames_number` with `split_by="time"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "time")]
pub struct ByTime {
    /// The number of frames.
    #[schema(main, default = 16, at_least = 1)]
    pub frames: usize,
}

impl Slicing for ByTime {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let frames = slice_count(Self::DECLARATION.name, self.frames as i128)?;
        check_sorted(Self::DECLARATION.name, t)?;
        let (first, last) = t.first().zip(t.last()).unwrap_or((&0, &0));
        let first = i128::from(*first);
        let duration = (i128::from(*last) - first) / frames as i128;
        let bound = |k: usize| first_at(t, first + k as i128 * duration);
        let mut slices: Vec<_> = (0..frames).map(|k| bound(k)..bound(k + 1)).collect();
        slices[frames - 1].end = t.len();
        Ok(slices)
    }

    fn len(&self) -> Option<usize> {
        Some(self.frames)
    }

    fn on_device(&self) -> Option<DeviceSlicing> {
        Some(DeviceSlicing::Time)
    }
}
