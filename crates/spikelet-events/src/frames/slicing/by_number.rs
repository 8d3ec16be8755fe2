//! A fixed number of frames with the same number of events each.

use std::ops::Range;

use super::{Slicer, chosen_count};
use crate::Result;
use crate::settings::{Field, Settings};

/// A fixed number of frames with ⌊N / `frames`⌋ events each; the last frame has the remainder as well.
///
/// With fewer events than frames, all are in the last frame.
///
/// ```
/// use spikelet_events::frames::{ByNumber, Slicing};
///
/// let slicing = Slicing::from(ByNumber { frames: 2 });
/// assert_eq!(slicing.slices(&[0, 5, 3, 8, 9])?, [0..2, 2..5]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: SpikingJelly 2.0.0, `integrate_events_by_fixed_frames_number` with `split_by="number"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByNumber {
    /// The number of frames.
    pub frames: usize,
}

impl Default for ByNumber {
    /// 16 frames.
    fn default() -> Self {
        Self { frames: 16 }
    }
}

impl Settings for ByNumber {
    const NAME: &'static str = "number";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("frames", &mut self.frames)]
    }
}

impl Slicer for ByNumber {
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let frames = chosen_count(Self::NAME, "frames", self.frames)?;
        let events = t.len() / frames;
        let mut slices: Vec<_> = (0..frames).map(|k| k * events..(k + 1) * events).collect();
        slices[frames - 1].end = t.len();
        Ok(slices)
    }
}
