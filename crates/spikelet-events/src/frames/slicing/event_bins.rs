//! A number of bins with the same number of events.

use std::ops::Range;

use super::{Slicer, check_overlap, chosen_count};
use crate::Result;
use crate::settings::{Field, Settings};

/// A fixed number of bins with the same number of events, larger by the part `overlap`.
///
/// A bin has c = ⌊⌊N / `bins`⌋ · (1 + `overlap`)⌋ events, and the next one starts ⌊c · (1 − `overlap`)⌋ events later.
/// The remaining events are left out, as in tonic; [`ByNumber`](super::ByNumber) keeps them.
///
/// ```
/// use spikelet_events::frames::{EventBins, Slicing};
///
/// let bins = EventBins { bins: 2, overlap: 0.0 };
/// assert_eq!(Slicing::from(bins).slices(&[0, 1, 2, 3, 4])?, [0..2, 2..4]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByEventBins`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventBins {
    /// The number of bins.
    pub bins: usize,
    /// The part of a bin that it is larger, at least 0 and below 1.
    pub overlap: f64,
}

impl Default for EventBins {
    /// 10 bins without overlap.
    fn default() -> Self {
        Self {
            bins: 10,
            overlap: 0.0,
        }
    }
}

impl Settings for EventBins {
    const NAME: &'static str = "event-bins";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("bins", &mut self.bins), ("overlap", &mut self.overlap)]
    }
}

impl Slicer for EventBins {
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let bins = chosen_count(Self::NAME, "bins", self.bins)?;
        check_overlap(Self::NAME, self.overlap)?;
        let events = ((t.len() / bins) as f64 * (1.0 + self.overlap)) as usize;
        let stride = (events as f64 * (1.0 - self.overlap)) as usize;
        let bound = |event: usize| event.min(t.len());
        let starts = (0..bins).map(|k| k * stride);
        Ok(starts
            .map(|from| bound(from)..bound(from + events))
            .collect())
    }
}
