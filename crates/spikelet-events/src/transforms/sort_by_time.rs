//! Events in the order of their times.

use super::EventTransform;
use super::edit::sort_by_time;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Sorts events by time; events at one time keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct SortByTime;

impl EventTransform for SortByTime {
    fn change(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        sort_by_time(events);
        Ok(())
    }
}
