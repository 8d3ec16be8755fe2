//! Random events are added.

use super::edit::sort_by_time;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Adds `events` events, uniform over sensor, polarity and the time from the earliest to the latest event; sorts by time.
///
/// A recording without events stays so.
///
/// Source: tonic 1.7.0, `UniformNoise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniformNoise {
    /// The number of events, at most 2²⁶.
    pub events: usize,
}

impl Default for UniformNoise {
    fn default() -> Self {
        Self { events: 1000 }
    }
}

impl Settings for UniformNoise {
    const NAME: &'static str = "uniform-noise";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("events", &mut self.events)]
    }
}

impl Apply for UniformNoise {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check(
            self.events <= 1 << 26,
            Self::NAME,
            "events",
            self.events,
            "at most 67108864",
        )?;
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
