//! Random pixels are dropped.

use super::edit::{pixels, retain};
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// Drops the events of each pixel with probability `p`.
///
/// Source: tonic 1.7.0, `RandomDropPixel`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropRandomPixels {
    /// The probability of a pixel.
    pub p: f64,
}

impl Default for DropRandomPixels {
    fn default() -> Self {
        Self { p: 0.1 }
    }
}

impl Settings for DropRandomPixels {
    const NAME: &'static str = "drop-random-pixels";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("p", &mut self.p)]
    }
}

impl Apply for DropRandomPixels {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a probability from 0 to 1")?;
        let width = sensor.width as usize;
        let mut dropped = vec![false; pixels(Self::NAME, width, sensor.height as usize)?];
        dropped.fill_with(|| random.chance(self.p));
        retain(events, |event| !dropped[event.y * width + event.x]);
        Ok(())
    }
}
