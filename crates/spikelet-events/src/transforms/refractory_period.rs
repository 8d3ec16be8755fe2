//! A refractory period of pixels.

use super::EventTransform;
use super::edit::{pixels, retain};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Keeps an event if the last one of its pixel, kept or not, is more than `delta` microseconds ago.
///
/// As in tonic, every pixel starts with an event at −`delta`: the first event of a pixel at t ≤ 0 is dropped.
///
/// Source: tonic 1.7.0, `RefractoryPeriod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct RefractoryPeriod {
    /// The refractory period in microseconds.
    #[schema(main, default = 1000)]
    pub delta: u64,
}

impl EventTransform for RefractoryPeriod {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let delta = i64::try_from(self.delta).unwrap_or(i64::MAX);
        let width = sensor.width as usize;
        let mut last = vec![-delta; pixels(Self::DECLARATION.name, width, sensor.height as usize)?];
        retain(events, |event| {
            let last = std::mem::replace(&mut last[event.y * width + event.x], event.t);
            i128::from(event.t) - i128::from(last) > i128::from(delta)
        });
        Ok(())
    }
}
