//! Times start at 0.

use super::EventTransform;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Subtracts the earliest time from all times.
///
/// Source: tonic 1.7.0, `TimeAlignment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct TimeAlignment;

impl EventTransform for TimeAlignment {
    fn change(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let first = events.t.iter().min().copied().unwrap_or(0);
        events
            .t
            .iter_mut()
            .for_each(|t| *t = t.saturating_sub(first));
        Ok(())
    }
}
