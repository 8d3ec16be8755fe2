//! The events of a random box are dropped.

use super::edit::retain;
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
        let mut side = |size: u32| {
            let length = (f64::from(size) * self.ratio) as usize;
            let start = random.below((size as usize - length) as u64 + 1) as usize;
            start..start + length
        };
        let (columns, rows) = (side(sensor.width), side(sensor.height));
        retain(events, |event| {
            !(columns.contains(&event.x) && rows.contains(&event.y))
        });
        Ok(())
    }
}
