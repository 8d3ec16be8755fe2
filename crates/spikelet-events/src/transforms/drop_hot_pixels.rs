//! Pixels with too many events are dropped.

use super::edit::{pixels, retain};
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Drops the events of pixels with more than `frequency` events in a second, from the first event to the last.
///
/// Source: tonic 1.7.0, `DropPixel(hot_pixel_frequency)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropHotPixels {
    /// The largest number of events of a pixel in a second.
    pub frequency: f64,
}

impl Default for DropHotPixels {
    fn default() -> Self {
        Self { frequency: 1000.0 }
    }
}

impl Settings for DropHotPixels {
    const NAME: &'static str = "drop-hot-pixels";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("frequency", &mut self.frequency)]
    }
}

impl Apply for DropHotPixels {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let is_valid = self.frequency >= 0.0;
        check(
            is_valid,
            Self::NAME,
            "frequency",
            self.frequency,
            "events in a second, at least 0",
        )?;
        let width = sensor.width as usize;
        let mut counts = vec![0_u32; pixels(Self::NAME, width, sensor.height as usize)?];
        for (&x, &y) in events.x.iter().zip(&events.y) {
            let count = &mut counts[usize::from(y) * width + usize::from(x)];
            *count = count.saturating_add(1);
        }
        let (first, last) = events.t.first().zip(events.t.last()).unwrap_or((&0, &0));
        let duration = (i128::from(*last) - i128::from(*first)) as f64;
        let most = self.frequency * duration * 1e-6;
        retain(events, |event| {
            f64::from(counts[event.y * width + event.x]) <= most
        });
        Ok(())
    }
}
