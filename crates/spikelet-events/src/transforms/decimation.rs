//! Every n-th event of a pixel.

use super::edit::{pixels, retain};
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Keeps every n-th event of each pixel, of both polarities together.
///
/// Source: tonic 1.7.0, `Decimation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimation {
    /// The events of a pixel of which one is kept, at least 1.
    pub n: u64,
}

impl Default for Decimation {
    fn default() -> Self {
        Self { n: 2 }
    }
}

impl Settings for Decimation {
    const NAME: &'static str = "decimation";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("n", &mut self.n)]
    }
}

impl Apply for Decimation {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        check(self.n > 0, Self::NAME, "n", self.n, "at least 1")?;
        let width = sensor.width as usize;
        let mut counts = vec![0_u64; pixels(Self::NAME, width, sensor.height as usize)?];
        retain(events, |event| {
            let count = &mut counts[event.y * width + event.x];
            *count = (*count + 1) % self.n;
            *count == 0
        });
        Ok(())
    }
}
