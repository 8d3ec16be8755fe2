//! The events of a random interval are dropped.

use super::edit::retain;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// Drops the events of an interval that is the part `ratio` of the duration, at a uniform start.
///
/// The duration is from the earliest event to the latest; tonic counts from time 0.
///
/// Source: tonic 1.7.0, `DropEventByTime`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropByTime {
    /// The part of the duration, 0 to 1.
    pub ratio: f64,
}

impl Default for DropByTime {
    fn default() -> Self {
        Self { ratio: 0.1 }
    }
}

impl Settings for DropByTime {
    const NAME: &'static str = "drop-by-time";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("ratio", &mut self.ratio)]
    }
}

impl Apply for DropByTime {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "ratio", self.ratio, "a part from 0 to 1")?;
        let first = events.t.iter().min().copied().unwrap_or(0) as f64;
        let last = events.t.iter().max().copied().unwrap_or(0) as f64;
        let length = (last - first) * self.ratio;
        let start = random.between(first, last - length);
        if self.ratio > 0.0 {
            retain(events, |event| {
                !(start..=start + length).contains(&(event.t as f64))
            });
        }
        Ok(())
    }
}
