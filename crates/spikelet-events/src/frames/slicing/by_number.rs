//! A fixed number of frames with the same number of events each.

use std::ops::Range;

use super::{DeviceSlicing, Slicing, slice_count};
use crate::Result;
use spikelet_schema::Schema;

/// A fixed number of frames with ⌊N / `frames`⌋ events each; the last frame has the remainder as well.
///
/// With fewer events than frames, all are in the last frame.
///
/// ```
/// use spikelet_events::frames::{ByNumber, Slicing};
///
/// let slicing = ByNumber { frames: 2 };
/// assert_eq!(slicing.slices(&[0, 5, 3, 8, 9])?, [0..2, 2..5]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: SpikingJelly 2.0.0, `integrate_events_by_fixed_frames_number` with `split_by="number"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "number")]
pub struct ByNumber {
    /// The number of frames.
    #[schema(main, default = 16, at_least = 1)]
    pub frames: usize,
}

impl Slicing for ByNumber {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let frames = slice_count(Self::DECLARATION.name, self.frames as i128)?;
        let events = t.len() / frames;
        let mut slices: Vec<_> = (0..frames).map(|k| k * events..(k + 1) * events).collect();
        slices[frames - 1].end = t.len();
        Ok(slices)
    }

    fn len(&self) -> Option<usize> {
        Some(self.frames)
    }

    fn on_device(&self) -> Option<DeviceSlicing> {
        Some(DeviceSlicing::Number)
    }
}
