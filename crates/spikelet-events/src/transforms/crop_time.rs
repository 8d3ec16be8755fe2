//! A part of the duration.

use super::edit::retain;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Keeps the events with `min` ≤ t ≤ `max`.
///
/// Source: tonic 1.7.0, `CropTime`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CropTime {
    /// The earliest time in microseconds.
    pub min: i64,
    /// The latest time; `None`: no limit.
    pub max: Option<i64>,
}

impl Settings for CropTime {
    const NAME: &'static str = "crop-time";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("min", &mut self.min), ("max", &mut self.max)]
    }
}

impl Apply for CropTime {
    fn apply(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let (min, max) = (self.min, self.max.unwrap_or(i64::MAX));
        check(min <= max, Self::NAME, "min", min, "at most max")?;
        retain(events, |event| (min..=max).contains(&event.t));
        Ok(())
    }
}
