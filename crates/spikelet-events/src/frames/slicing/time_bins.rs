//! A number of bins of time.

use std::ops::Range;

use super::{Slicing, check_sorted, first_at, slice_count};
use crate::Result;
use spikelet_schema::Schema;

/// A fixed number of half-open bins of time, longer by the part `overlap`.
///
/// A bin lasts w = ⌊(last time − first time) / `bins`⌋ · (1 + `overlap`), and the next one starts w · (1 − `overlap`)
/// later. Events after the last bin are left out, as in tonic: at least the last event if `bins` divides the duration.
/// [`ByTime`](super::ByTime) keeps all events.
///
/// ```
/// use spikelet_events::frames::{Slicing, TimeBins};
///
/// let bins = TimeBins { bins: 2, overlap: 0.0 };
/// assert_eq!(bins.slices(&[0, 5, 10, 20])?, [0..2, 2..3]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByTimeBins`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct TimeBins {
    /// The number of bins.
    #[schema(main, default = 10, at_least = 1)]
    pub bins: usize,
    /// The part of a bin that it is longer, at least 0 and below 1.
    #[schema(default = 0.0, at_least = 0, below = 1)]
    pub overlap: f64,
}

impl Slicing for TimeBins {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        let bins = slice_count(Self::DECLARATION.name, self.bins as i128)?;
        check_sorted(Self::DECLARATION.name, t)?;
        let (first, last) = t.first().zip(t.last()).unwrap_or((&0, &0));
        let duration = (i128::from(*last) - i128::from(*first)) / bins as i128;
        let window = duration as f64 * (1.0 + self.overlap);
        let stride = window * (1.0 - self.overlap);
        if self.overlap == 0.0 {
            let bound = |k: usize| first_at(t, i128::from(*first) + k as i128 * duration);
            return Ok((0..bins).map(|k| bound(k)..bound(k + 1)).collect());
        }
        let at = |time: f64| t.partition_point(|&t| (t as f64) < time);
        let starts = (0..bins).map(|k| k as f64 * stride + *first as f64);
        Ok(starts.map(|from| at(from)..at(from + window)).collect())
    }

    fn len(&self) -> Option<usize> {
        Some(self.bins)
    }
}
