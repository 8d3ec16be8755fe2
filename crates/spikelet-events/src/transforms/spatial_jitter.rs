//! Coordinates vary.

use super::edit::move_events;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Adds bivariate normal noise to coordinates, rounded to the nearest pixel; events that leave the sensor are dropped.
///
/// tonic rounds towards 0, which moves events by half a pixel on average, and can keep events outside of the sensor.
///
/// Source: tonic 1.7.0, `SpatialJitter`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialJitter {
    /// The variance of columns in square pixels.
    pub var_x: f64,
    /// The variance of rows in square pixels.
    pub var_y: f64,
    /// The covariance; its square is at most `var_x` · `var_y`.
    pub covariance: f64,
}

impl Default for SpatialJitter {
    fn default() -> Self {
        Self {
            var_x: 1.0,
            var_y: 1.0,
            covariance: 0.0,
        }
    }
}

impl Settings for SpatialJitter {
    const NAME: &'static str = "spatial-jitter";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("var_x", &mut self.var_x),
            ("var_y", &mut self.var_y),
            ("covariance", &mut self.covariance),
        ]
    }
}

impl Apply for SpatialJitter {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        for (field, variance) in [("var_x", self.var_x), ("var_y", self.var_y)] {
            let is_valid = variance >= 0.0 && variance.is_finite();
            check(
                is_valid,
                Self::NAME,
                field,
                variance,
                "a variance, at least 0",
            )?;
        }
        let is_valid = self.covariance * self.covariance <= self.var_x * self.var_y;
        check(
            is_valid,
            Self::NAME,
            "covariance",
            self.covariance,
            "at most √(var_x · var_y)",
        )?;
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
}
