//! The events of a random box are dropped.

use super::edit::drop_box;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// Drops the events of a box of ⌊W · `ratio`⌋ × ⌊H · `ratio`⌋ pixels at a uniform position inside of the sensor.
///
/// Source: tonic 1.7.0, `DropEventByArea`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropByArea {
    /// The part of each side, 0 to 1.
    pub ratio: f64,
}

impl Default for DropByArea {
    fn default() -> Self {
        Self { ratio: 0.1 }
    }
}

impl Settings for DropByArea {
    const NAME: &'static str = "drop-by-area";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("ratio", &mut self.ratio)]
    }
}

impl Apply for DropByArea {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "ratio", self.ratio, "a part from 0 to 1")?;
        let length = |size: u32| (f64::from(size) * self.ratio) as usize;
        drop_box(events, *sensor, length, random);
        Ok(())
    }
}
