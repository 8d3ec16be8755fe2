//! A random part of the sensor.

use super::EventTransform;
use super::edit::crop;
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Keeps the events of a random part of the sensor, and moves its corner to (0, 0).
///
/// Every position inside of the sensor is equally likely; tonic never chooses the last one.
///
/// Source: tonic 1.7.0, `RandomCrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct RandomCrop {
    /// The columns that are kept, at most those of the sensor.
    #[schema(main, default = 32, at_least = 1, at_most = 65536)]
    pub width: u32,
    /// The rows that are kept, at most those of the sensor; by default as many as columns.
    #[schema(at_least = 1, at_most = 65536)]
    pub height: Option<u32>,
}

impl EventTransform for RandomCrop {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let size = Sensor::new(self.width, self.height.unwrap_or(self.width));
        for (field, old, new) in [
            ("width", sensor.width, size.width),
            ("height", sensor.height, size.height),
        ] {
            check(
                new <= old,
                Self::DECLARATION.name,
                field,
                new,
                "at most the size of the sensor",
            )?;
        }
        let mut start = |old: u32, new: u32| random.below(u64::from(old - new) + 1) as i64;
        let corner = [
            start(sensor.width, size.width),
            start(sensor.height, size.height),
        ];
        crop(events, corner, size);
        *sensor = size;
        Ok(())
    }
}
