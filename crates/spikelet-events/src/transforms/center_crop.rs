//! The center of the sensor.

use super::EventTransform;
use super::edit::crop;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Keeps the events of the center, and moves its corner to (0, 0).
///
/// The offset is ⌊(sensor − size) / 2⌋ on each axis. On an axis where the size is larger than the sensor, all events are kept and
/// moved into the middle.
///
/// Source: tonic 1.7.0, `CenterCrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct CenterCrop {
    /// The columns that are kept, 1 to 65536.
    #[schema(main, default = 32, at_least = 1, at_most = 65536)]
    pub width: u32,
    /// The rows that are kept, 1 to 65536; by default as many as columns.
    #[schema(at_least = 1, at_most = 65536)]
    pub height: Option<u32>,
}

impl EventTransform for CenterCrop {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let size = Sensor::new(self.width, self.height.unwrap_or(self.width));
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
