//! Every n-th event of a pixel.

use super::EventTransform;
use super::edit::{pixels, retain};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Keeps every n-th event of each pixel, of both polarities together.
///
/// Source: tonic 1.7.0, `Decimation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Decimation {
    /// The events of a pixel of which one is kept, at least 1.
    #[schema(main, default = 2, at_least = 1)]
    pub n: u64,
}

impl EventTransform for Decimation {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let width = sensor.width as usize;
        let mut counts =
            vec![0_u64; pixels(Self::DECLARATION.name, width, sensor.height as usize)?];
        retain(events, |event| {
            let count = &mut counts[event.y * width + event.x];
            *count = (*count + 1) % self.n;
            *count == 0
        });
        Ok(())
    }
}
