//! Times vary.

use super::edit::{retain, sort_by_time};
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Adds normal noise to times, rounded towards 0.
///
/// Source: tonic 1.7.0, `TimeJitter`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeJitter {
    /// The standard deviation in microseconds.
    pub std: f64,
    /// Whether events at negative times are dropped.
    pub drop_negative: bool,
    /// Whether events are sorted by time afterwards.
    pub sort: bool,
}

impl Default for TimeJitter {
    fn default() -> Self {
        Self {
            std: 100.0,
            drop_negative: true,
            sort: false,
        }
    }
}

impl Settings for TimeJitter {
    const NAME: &'static str = "time-jitter";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("std", &mut self.std),
            ("drop_negative", &mut self.drop_negative),
            ("sort", &mut self.sort),
        ]
    }
}

impl Apply for TimeJitter {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let is_valid = self.std >= 0.0 && self.std.is_finite();
        check(
            is_valid,
            Self::NAME,
            "std",
            self.std,
            "microseconds, at least 0",
        )?;
        events
            .t
            .iter_mut()
            .for_each(|t| *t = (*t as f64 + self.std * random.normal()) as i64);
        if self.drop_negative {
            retain(events, |event| event.t >= 0);
        }
        if self.sort {
            sort_by_time(events);
        }
        Ok(())
    }
}
