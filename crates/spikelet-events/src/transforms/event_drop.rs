//! EventDrop.

use super::{DropEvents, DropOf, EventTransform};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// One of four with equal chance: nothing; [`DropEvents`] of an interval, 0.1 … 0.9; of a box, 0.05 … 0.25; of single events,
/// 0.1 … 0.9.
///
/// Source: F. Gu et al., EventDrop: data augmentation for event-based learning, 2021; tonic 1.7.0, `EventDrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct EventDrop;

impl EventTransform for EventDrop {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let mut ratio = |count: u64, steps: f64| (1 + random.below(count)) as f64 / steps;
        let (by_time, by_area, by_event) = (ratio(9, 10.0), ratio(5, 20.0), ratio(9, 10.0));
        let (p, of) = match random.below(4) {
            0 => return Ok(()),
            1 => (by_time, DropOf::Time),
            2 => (by_area, DropOf::Area),
            _ => (by_event, DropOf::Events),
        };
        DropEvents { p, of }.change(events, sensor, random)
    }
}
