//! A refractory period of pixels.

use super::edit::{pixels, retain};
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// Keeps an event if the last one of its pixel, kept or not, is more than `delta` microseconds ago.
///
/// As in tonic, every pixel starts with an event at −`delta`: the first event of a pixel at t ≤ 0 is dropped.
///
/// Source: tonic 1.7.0, `RefractoryPeriod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefractoryPeriod {
    /// The refractory period in microseconds.
    pub delta: u64,
}

impl Default for RefractoryPeriod {
    fn default() -> Self {
        Self { delta: 1000 }
    }
}

impl Settings for RefractoryPeriod {
    const NAME: &'static str = "refractory-period";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("delta", &mut self.delta)]
    }
}

impl Apply for RefractoryPeriod {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let delta = i64::try_from(self.delta).unwrap_or(i64::MAX);
        let width = sensor.width as usize;
        let mut last = vec![-delta; pixels(Self::NAME, width, sensor.height as usize)?];
        retain(events, |event| {
            let last = std::mem::replace(&mut last[event.y * width + event.x], event.t);
            i128::from(event.t) - i128::from(last) > i128::from(delta)
        });
        Ok(())
    }
}
