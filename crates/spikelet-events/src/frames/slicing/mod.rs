//! How the events of a recording are cut into ranges.

mod by_duration;
mod by_number;
mod by_time;
mod event_bins;
mod event_counts;
mod time_bins;
mod time_windows;

use std::ops::Range;

use crate::settings::{invalid, registry};
use crate::{ErrorKind, Result};

pub use by_duration::ByDuration;
pub use by_number::ByNumber;
pub use by_time::ByTime;
pub use event_bins::EventBins;
pub use event_counts::EventCounts;
pub use time_bins::TimeBins;
pub use time_windows::TimeWindows;

/// The most slices of a recording.
const MAX_SLICES: usize = 1 << 22;

/// A rule that cuts events into ranges of indices.
pub(super) trait Slicer {
    /// The ranges, for times in the order of the file. Ranges may overlap, and leave events out.
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>>;
}

macro_rules! slicings {
    ($($variant:ident,)*) => {
        registry! {
            /// A way to cut the events of a recording into ranges.
            ///
            /// ```
            /// use spikelet_events::frames::Slicing;
            ///
            /// let slicing: Slicing = "time-windows window=20 overlap=5".parse()?;
            /// assert_eq!(slicing.slices(&[0, 10, 20, 30, 40])?, [0..2, 2..4]);
            /// assert_eq!(slicing.to_string(), "time-windows window=20 overlap=5 include_incomplete=false");
            /// assert!("time-windows window=-20".parse::<Slicing>().is_err());
            /// # Ok::<(), spikelet_events::Error>(())
            /// ```
            Slicing, "frames" { $($variant($variant),)* }
        }

        impl Slicing {
            /// The ranges of events, for times in microseconds in the order of the file. Ranges may overlap and leave
            /// events out.
            ///
            /// # Errors
            /// [`ErrorKind::Setting`]; [`ErrorKind::Unsorted`] if the rule is by time and times decrease;
            /// [`ErrorKind::TooLarge`] for more than 4,194,304 slices.
            pub fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
                match self {
                    $(Self::$variant(slicer) => slicer.slices(t),)*
                }
            }
        }
    };
}

slicings! {
    ByNumber,
    ByTime,
    ByDuration,
    TimeWindows,
    EventCounts,
    TimeBins,
    EventBins,
}

impl Slicing {
    /// The number of slices, if it is the same for all recordings.
    ///
    /// ```
    /// use spikelet_events::frames::{ByDuration, ByNumber, Slicing};
    ///
    /// assert_eq!(Slicing::from(ByNumber { frames: 16 }).len(), Some(16));
    /// assert_eq!(Slicing::from(ByDuration { duration: 50_000 }).len(), None);
    /// assert_eq!("time-windows window=5 start=0 end=20".parse::<Slicing>()?.len(), Some(4));
    /// # Ok::<(), spikelet_events::Error>(())
    /// ```
    #[expect(
        clippy::len_without_is_empty,
        reason = "a number of slices is at least 1"
    )]
    #[must_use]
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::ByNumber(rule) => Some(rule.frames),
            Self::ByTime(rule) => Some(rule.frames),
            Self::TimeBins(rule) => Some(rule.bins),
            Self::EventBins(rule) => Some(rule.bins),
            Self::TimeWindows(rule) => rule.len(),
            Self::ByDuration(_) | Self::EventCounts(_) => None,
        }
    }
}

/// Checks that times do not decrease.
pub(super) fn check_sorted(of: &'static str, t: &[i64]) -> Result<()> {
    // Blocks are checked without a branch for each event.
    let decreases = t
        .windows(2)
        .map(|pair| pair[0] > pair[1])
        .fold(false, |any, one| any | one);
    if !decreases {
        return Ok(());
    }
    let event = 1 + t.windows(2).take_while(|pair| pair[0] <= pair[1]).count();
    Err(ErrorKind::Unsorted {
        of,
        event,
        time: t[event],
        before: t[event - 1],
    }
    .into())
}

/// The first event at or after a time; times are sorted.
fn first_at(t: &[i64], time: i128) -> usize {
    t.partition_point(|&t| i128::from(t) < time)
}

/// Checks a number of slices that follows from settings and events.
fn slice_count(of: &'static str, count: i128) -> Result<usize> {
    let found = usize::try_from(count.max(0))
        .ok()
        .filter(|&count| count <= MAX_SLICES);
    found.ok_or_else(|| {
        ErrorKind::TooLarge {
            of,
            given: count.to_string(),
            unit: "slices",
            limit: MAX_SLICES,
            help: "use fewer or longer slices, or cut the recording first",
        }
        .into()
    })
}

/// Checks a number of slices that is a setting.
fn chosen_count(of: &'static str, field: &'static str, count: usize) -> Result<usize> {
    if count == 0 {
        return Err(invalid(of, field, count, "at least 1"));
    }
    slice_count(of, count as i128)
}

/// Checks an overlap that is a part of a slice.
fn check_overlap(of: &'static str, overlap: f64) -> Result<()> {
    let is_part = (0.0..1.0).contains(&overlap);
    crate::settings::check(
        is_part,
        of,
        "overlap",
        overlap,
        "a part of a slice, 0 ≤ overlap < 1",
    )
}
