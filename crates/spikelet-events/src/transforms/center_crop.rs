//! The center of the sensor.

use super::edit::crop;
use super::transform::Apply;
use crate::EventRandom;
use crate::frames::check_sensor;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// Keeps the events of the center, and moves its corner to (0, 0).
///
/// The offset is ⌊(sensor − size) / 2⌋ on each axis. On an axis where the size is larger than the sensor, all events are kept and
/// moved into the middle.
///
/// Source: tonic 1.7.0, `CenterCrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CenterCrop {
    /// The columns that are kept, 1 to 65536.
    pub width: u32,
    /// The rows that are kept, 1 to 65536.
    pub height: u32,
}

impl Default for CenterCrop {
    fn default() -> Self {
        Self {
            width: 32,
            height: 32,
        }
    }
}

impl Settings for CenterCrop {
    const NAME: &'static str = "center-crop";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("width", &mut self.width), ("height", &mut self.height)]
    }
}

impl Apply for CenterCrop {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let size = Sensor::new(self.width, self.height);
        check_sensor(Self::NAME, size)?;
        let offset = |old: u32, new: u32| (i64::from(old) - i64::from(new)).div_euclid(2);
        let corner = [
            offset(sensor.width, size.width),
            offset(sensor.height, size.height),
        ];
        crop(events, corner, size);
        *sensor = size;
        Ok(())
    }
}
