//! Times start at 0.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// Subtracts the earliest time from all times.
///
/// Source: tonic 1.7.0, `TimeAlignment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeAlignment;

impl Settings for TimeAlignment {
    const NAME: &'static str = "time-alignment";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![]
    }
}

impl Apply for TimeAlignment {
    fn apply(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let first = events.t.iter().min().copied().unwrap_or(0);
        events
            .t
            .iter_mut()
            .for_each(|t| *t = t.saturating_sub(first));
        Ok(())
    }
}
