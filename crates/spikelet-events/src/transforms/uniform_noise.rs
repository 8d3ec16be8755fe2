//! Random events are added.

use super::EventTransform;
use super::edit::sort_by_time;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Adds `events` events, uniform over sensor, polarity and the time from the earliest to the latest event; sorts by time.
///
/// A recording without events stays so.
///
/// Source: tonic 1.7.0, `UniformNoise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct UniformNoise {
    /// The number of events, at most 2²⁶.
    #[schema(main, default = 1000, at_least = 0, at_most = 1 << 26)]
    pub events: usize,
}

impl EventTransform for UniformNoise {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let (first, last) = events
            .t
            .iter()
            .min()
            .copied()
            .zip(events.t.iter().max().copied())
            .unwrap_or((0, 0));
        if events.is_empty() {
            return Ok(());
        }
        events.reserve(self.events);
        for _ in 0..self.events {
            let t = first.saturating_add_unsigned(random.below(last.abs_diff(first)));
            let x = random.below(u64::from(sensor.width)) as u16;
            let y = random.below(u64::from(sensor.height)) as u16;
            events.push(t, x, y, random.chance(0.5));
        }
        sort_by_time(events);
        Ok(())
    }
}
