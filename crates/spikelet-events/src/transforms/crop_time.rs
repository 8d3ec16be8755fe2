//! A part of the duration.

use super::EventTransform;
use super::edit::retain;
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Keeps the events with `min` ≤ t ≤ `max`.
///
/// Source: tonic 1.7.0, `CropTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(check = EventTransform::fits)]
pub struct CropTime {
    /// The earliest time in microseconds.
    #[schema(main)]
    pub min: i64,
    /// The latest time; `None`: no limit.
    pub max: Option<i64>,
}

impl EventTransform for CropTime {
    fn change(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let max = self.max.unwrap_or(i64::MAX);
        retain(events, |event| (self.min..=max).contains(&event.t));
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        let fits = self.max.is_none_or(|max| self.min <= max);
        check(fits, Self::DECLARATION.name, "min", self.min, "at most max")
    }
}
