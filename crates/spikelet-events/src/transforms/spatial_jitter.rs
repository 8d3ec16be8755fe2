//! Coordinates vary.

use super::EventTransform;
use super::edit::move_events;
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Adds bivariate normal noise to coordinates, rounded to the nearest pixel; events that leave the sensor are dropped.
///
/// tonic rounds towards 0, which moves events by half a pixel on average, and can keep events outside of the sensor.
///
/// Source: tonic 1.7.0, `SpatialJitter`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = EventTransform::fits)]
pub struct SpatialJitter {
    /// The variance of columns in square pixels.
    #[schema(main, default = 1.0, at_least = 0)]
    pub var_x: f64,
    /// The variance of rows in square pixels.
    #[schema(default = 1.0, at_least = 0)]
    pub var_y: f64,
    /// The covariance; its square is at most `var_x` · `var_y`.
    #[schema(default = 0.0)]
    pub covariance: f64,
}

impl EventTransform for SpatialJitter {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let std_x = self.var_x.sqrt();
        let slope = if std_x > 0.0 {
            self.covariance / std_x
        } else {
            0.0
        };
        let rest = (self.var_y - slope * slope).max(0.0).sqrt();
        move_events(events, *sensor, |x, y| {
            let (first, second) = (random.normal(), random.normal());
            [x + std_x * first, y + slope * first + rest * second]
        });
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        let fits = self.covariance * self.covariance <= self.var_x * self.var_y;
        let expected = "at most √(var_x · var_y)";
        check(
            fits,
            Self::DECLARATION.name,
            "covariance",
            self.covariance,
            expected,
        )
    }
}
