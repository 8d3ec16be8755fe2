//! A random part of the sensor.

use super::edit::crop;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Keeps the events of a random part of the sensor, and moves its corner to (0, 0).
///
/// Every position inside of the sensor is equally likely; tonic never chooses the last one.
///
/// Source: tonic 1.7.0, `RandomCrop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomCrop {
    /// The columns that are kept, at most those of the sensor.
    pub width: u32,
    /// The rows that are kept, at most those of the sensor.
    pub height: u32,
}

impl Default for RandomCrop {
    fn default() -> Self {
        Self {
            width: 32,
            height: 32,
        }
    }
}

impl Settings for RandomCrop {
    const NAME: &'static str = "random-crop";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("width", &mut self.width), ("height", &mut self.height)]
    }
}

impl Apply for RandomCrop {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let size = Sensor::new(self.width, self.height);
        for (field, old, new) in [
            ("width", sensor.width, size.width),
            ("height", sensor.height, size.height),
        ] {
            check(
                (1..=old).contains(&new),
                Self::NAME,
                field,
                new,
                "1 to the size of the sensor",
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
