//! Events in the order of their times.

use super::edit::sort_by_time;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// Sorts events by time; events at one time keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SortByTime;

impl Settings for SortByTime {
    const NAME: &'static str = "sort-by-time";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![]
    }
}

impl Apply for SortByTime {
    fn apply(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        sort_by_time(events);
        Ok(())
    }
}
