//! How the events of a recording are cut into ranges.

use std::fmt::Debug;
use std::ops::Range;

use spikelet_schema::Record;

use super::FrameEnd;
use crate::settings::check_settings;
use crate::{ErrorKind, Result};

spikelet_schema::members! {
    /// All ways to cut the events of a recording.
    pub static SLICINGS: dyn Slicing = "slicing" {
        by_number: ByNumber;
        by_time: ByTime;
        by_duration: ByDuration;
        time_windows: TimeWindows;
        event_counts: EventCounts;
        time_bins: TimeBins;
        event_bins: EventBins;
    }
}

/// The most slices of a recording.
const MAX_SLICES: usize = 1 << 22;

/// A way to cut the events of a recording into ranges. A slicing is one file with its declaration, and a line in
/// [`SLICINGS`](super::SLICINGS) and in [`FRAME_RULES`](super::FRAME_RULES): its frames have the counts of its slices.
///
/// ```
/// use spikelet_events::frames::Slicing;
/// use spikelet_schema::Member;
///
/// let slicing: Member<dyn Slicing> = "time-windows window=20 overlap=5".parse()?;
/// assert_eq!(slicing.slices(&[0, 10, 20, 30, 40])?, [0..2, 2..4]);
/// assert_eq!(slicing.to_string(), "time-windows window=20 overlap=5 include_incomplete=false");
/// assert!("time-windows window=-20".parse::<Member<dyn Slicing>>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::len_without_is_empty,
    reason = "a number of slices is at least 1"
)]
pub trait Slicing: Record + Debug + Send + Sync {
    /// The ranges, for times in the order of the file. The settings were checked.
    ///
    /// # Errors
    /// Those of [`slices`](Self::slices).
    fn cut(&self, t: &[i64]) -> Result<Vec<Range<usize>>>;

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`].
    fn fits(&self) -> Result<()> {
        Ok(())
    }

    /// The number of slices, if it is the same for all recordings.
    ///
    /// ```
    /// use spikelet_events::frames::{ByDuration, ByNumber, Slicing, TimeWindows};
    ///
    /// assert_eq!(ByNumber { frames: 16 }.len(), Some(16));
    /// assert_eq!(ByDuration { duration: 50_000 }.len(), None);
    /// let windows = TimeWindows { window: 5, start: Some(0), end: Some(20), ..TimeWindows::default() };
    /// assert_eq!(windows.len(), Some(4));
    /// ```
    fn len(&self) -> Option<usize> {
        None
    }

    /// The rule by which a device makes the same frames, if it can.
    fn on_device(&self) -> Option<DeviceSlicing> {
        None
    }

    /// When a frame of a stream ends; `None` if frames need the end of the recording.
    fn end_in_stream(&self) -> Option<FrameEnd> {
        None
    }

    /// The ranges of events, for times in microseconds in the order of the file. Ranges may overlap and leave
    /// events out.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`]; [`ErrorKind::Unsorted`] if the rule is by time and times decrease;
    /// [`ErrorKind::TooLarge`] for more than 4,194,304 slices.
    fn slices(&self, t: &[i64]) -> Result<Vec<Range<usize>>> {
        check_settings(self)?;
        self.fits()?;
        self.cut(t)
    }
}

/// How events are cut into frames on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceSlicing {
    /// Equal numbers of events.
    Number,
    /// Equal durations.
    Time,
    /// Frames of so many microseconds.
    Duration(u64),
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

/// Checks a number of slices.
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
