//! Times vary.

use super::EventTransform;
use super::edit::{retain, sort_by_time};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Adds normal noise to times, rounded towards 0.
///
/// Source: tonic 1.7.0, `TimeJitter`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct TimeJitter {
    /// The standard deviation in microseconds.
    #[schema(main, default = 100.0, at_least = 0)]
    pub std: f64,
    /// Whether events at negative times are dropped.
    #[schema(default = true)]
    pub drop_negative: bool,
    /// Whether events are sorted by time afterwards.
    pub sort: bool,
}

impl EventTransform for TimeJitter {
    fn change(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
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
