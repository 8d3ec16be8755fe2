//! Coarser coordinates and times.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Multiplies coordinates and times by factors and rounds towards 0.
///
/// `width` and `height` choose the size of the new sensor instead of a factor.
///
/// Source: tonic 1.7.0, `Downsample`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Downsample {
    /// The factor of times, above 0.
    pub time_factor: f64,
    /// The factor of columns, above 0.
    pub x_factor: f64,
    /// The factor of rows, above 0.
    pub y_factor: f64,
    /// The new number of columns; replaces `x_factor`.
    pub width: Option<u32>,
    /// The new number of rows; replaces `y_factor`.
    pub height: Option<u32>,
}

impl Default for Downsample {
    fn default() -> Self {
        Self {
            time_factor: 1.0,
            x_factor: 1.0,
            y_factor: 1.0,
            width: None,
            height: None,
        }
    }
}

impl Settings for Downsample {
    const NAME: &'static str = "downsample";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("time_factor", &mut self.time_factor),
            ("x_factor", &mut self.x_factor),
            ("y_factor", &mut self.y_factor),
            ("width", &mut self.width),
            ("height", &mut self.height),
        ]
    }
}

impl Apply for Downsample {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let size = |field, factor: f64, old: u32, new: Option<u32>| -> Result<(f64, u32)> {
            let factor = new.map_or(factor, |new| f64::from(new) / f64::from(old));
            let largest = f64::from(old - 1) * factor;
            let is_valid = factor > 0.0 && largest < 65536.0;
            check(
                is_valid,
                Self::NAME,
                field,
                factor,
                "a factor above 0, with sizes from 1 to 65536",
            )?;
            Ok((factor, new.unwrap_or(largest as u32 + 1)))
        };
        let (x_factor, width) = size("x_factor", self.x_factor, sensor.width, self.width)?;
        let (y_factor, height) = size("y_factor", self.y_factor, sensor.height, self.height)?;
        let is_valid = self.time_factor > 0.0 && self.time_factor.is_finite();
        check(
            is_valid,
            Self::NAME,
            "time_factor",
            self.time_factor,
            "a factor above 0",
        )?;
        if self.time_factor != 1.0 {
            events
                .t
                .iter_mut()
                .for_each(|t| *t = (*t as f64 * self.time_factor) as i64);
        }
        events
            .x
            .iter_mut()
            .for_each(|x| *x = (f64::from(*x) * x_factor) as u16);
        events
            .y
            .iter_mut()
            .for_each(|y| *y = (f64::from(*y) * y_factor) as u16);
        *sensor = Sensor::new(width, height);
        Ok(())
    }
}
