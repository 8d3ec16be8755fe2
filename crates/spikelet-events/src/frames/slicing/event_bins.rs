//! A number of bins with the same number of events.

use std::ops::Range;

use super::{Slicing, slice_count};
use crate::Result;
use spikelet_schema::Schema;

/// A fixed number of bins with the same number of events, larger by the part `overlap`.
///
/// A bin has c = ⌊⌊N / `bins`⌋ · (1 + `overlap`)⌋ events, and the next one starts ⌊c · (1 − `overlap`)⌋ events later.
/// The remaining events are left out, as in tonic; [`ByNumber`](super::ByNumber) keeps them.
///
/// ```
/// use spikelet_events::frames::{EventBins, Slicing};
///
/// let bins = EventBins { bins: 2, overlap: 0.0 };
/// assert_eq!(bins.slices(&[0, 1, 2, 3, 4])?, [0..2, 2..4]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByEventBins`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct EventBins {
    /// The number of bins.
    #[schema(main, default = 10, at_least = 1)]
    pub bins: usize,
    /// The part of a bin that it is larger, at least 0 and below 1.
    #[schema(default = 0.0, at_least = 0, below = 1)]
    pub overlap: f64,
}

impl Slicing for EventBins {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let bins = slice_count(Self::DECLARATION.name, self.bins as i128)?;
        let events = ((t.len() / bins) as f64 * (1.0 + self.overlap)) as usize;
        let stride = (events as f64 * (1.0 - self.overlap)) as usize;
        let bound = |event: usize| event.min(t.len());
        let starts = (0..bins).map(|k| k * stride);
        Ok(starts
            .map(|from| bound(from)..bound(from + events))
            .collect())
    }

    fn len(&self) -> Option<usize> {
        Some(self.bins)
    }
}
