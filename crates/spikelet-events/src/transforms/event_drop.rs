//! EventDrop.

use super::transform::Apply;
use super::{DropByArea, DropByTime, DropEvents};
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// One of four with equal chance: nothing; [`DropByTime`] with 0.1 … 0.9; [`DropByArea`] with 0.05 … 0.25; [`DropEvents`] with
/// 0.1 … 0.9.
///
/// Source: F. Gu et al., EventDrop: data augmentation for event-based learning, 2021; tonic 1.7.0, `EventDrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventDrop;

impl Settings for EventDrop {
    const NAME: &'static str = "event-drop";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![]
    }
}

impl Apply for EventDrop {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let mut ratio = |count: u64, steps: f64| (1 + random.below(count)) as f64 / steps;
        let (by_time, by_area, by_event) = (ratio(9, 10.0), ratio(5, 20.0), ratio(9, 10.0));
        match random.below(4) {
            0 => Ok(()),
            1 => DropByTime { ratio: by_time }.apply(events, sensor, random),
            2 => DropByArea { ratio: by_area }.apply(events, sensor, random),
            _ => DropEvents { p: by_event }.apply(events, sensor, random),
        }
    }
}
