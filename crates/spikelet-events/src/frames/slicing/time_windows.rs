//! Windows of time.

use std::ops::Range;

use super::{Slicing, check_sorted, first_at, slice_count};
use crate::Result;
use crate::settings::check;
use spikelet_schema::Schema;

/// Half-open windows of time that may overlap.
///
/// Window k is from `start` + k · (`window` − `overlap`), for `window` microseconds. There is at least one window.
///
/// ```
/// use spikelet_events::frames::{Slicing, TimeWindows};
///
/// let windows = TimeWindows { window: 10, include_incomplete: true, ..TimeWindows::default() };
/// assert_eq!(windows.slices(&[0, 5, 10, 14])?, [0..2, 2..4]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: tonic 1.7.0, `SliceByTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(check = Slicing::fits)]
pub struct TimeWindows {
    /// The duration of a window in microseconds.
    #[schema(main, default = 50_000, at_least = 1)]
    pub window: u64,
    /// The microseconds that neighboring windows share, below `window`.
    #[schema(default = 0)]
    pub overlap: u64,
    /// Whether there is a window that ends after the last event. The event at the very end of a whole number of windows
    /// is in no window, as in tonic.
    pub include_incomplete: bool,
    /// The start of the first window; `None`: the first event.
    pub start: Option<i64>,
    /// The end of the recording; `None`: the last event.
    pub end: Option<i64>,
}

impl TimeWindows {
    /// The number of windows of a recording from `first` to `last`.
    fn count(&self, first: i128, last: i128) -> Result<usize> {
        self.fits()?;
        let window = i128::from(self.window);
        let stride = window - i128::from(self.overlap);
        let incomplete = if self.include_incomplete {
            stride - 1
        } else {
            0
        };
        let rest = last - first - window + incomplete;
        Ok(slice_count(Self::DECLARATION.name, rest.div_euclid(stride) + 1)?.max(1))
    }
}

impl Slicing for TimeWindows {
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        check_sorted(Self::DECLARATION.name, t)?;
        let first = self.start.or(t.first().copied()).unwrap_or(0);
        let last = self.end.or(t.last().copied()).unwrap_or(first);
        let first = i128::from(first);
        let count = self.count(first, last.into())?;
        let window = i128::from(self.window);
        let stride = window - i128::from(self.overlap);
        let windows = (0..count).map(|k| first + k as i128 * stride);
        Ok(windows
            .map(|from| first_at(t, from)..first_at(t, from + window))
            .collect())
    }

    fn fits(&self) -> Result<()> {
        let (of, fits) = (Self::DECLARATION.name, self.overlap < self.window);
        check(fits, of, "overlap", self.overlap, "less than window")
    }

    /// The number of windows, if start and end are given.
    fn len(&self) -> Option<usize> {
        let (first, last) = (self.start?, self.end?);
        self.count(first.into(), last.into()).ok()
    }
}
