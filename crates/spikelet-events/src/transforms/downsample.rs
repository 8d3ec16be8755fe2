//! Coarser coordinates and times.

use super::EventTransform;
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Multiplies coordinates and times by factors and rounds towards 0.
///
/// `width` and `height` choose the size of the new sensor instead of a factor.
///
/// Source: tonic 1.7.0, `Downsample`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Downsample {
    /// The factor of times, above 0.
    #[schema(main, default = 1.0, above = 0)]
    pub time_factor: f64,
    /// The factor of columns, above 0.
    #[schema(default = 1.0, above = 0)]
    pub x_factor: f64,
    /// The factor of rows, above 0.
    #[schema(default = 1.0, above = 0)]
    pub y_factor: f64,
    /// The new number of columns; replaces `x_factor`.
    #[schema(at_least = 1, at_most = 65536)]
    pub width: Option<u32>,
    /// The new number of rows; replaces `y_factor`.
    #[schema(at_least = 1, at_most = 65536)]
    pub height: Option<u32>,
}

impl EventTransform for Downsample {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        let size = |field, factor: f64, old: u32, new: Option<u32>| -> Result<(f64, u32)> {
            let factor = new.map_or(factor, |new| f64::from(new) / f64::from(old));
            let largest = f64::from(old - 1) * factor;
            let fits = largest < 65536.0;
            check(
                fits,
                Self::DECLARATION.name,
                field,
                factor,
                "a factor for sizes up to 65536",
            )?;
            Ok((factor, new.unwrap_or(largest as u32 + 1)))
        };
        let (x_factor, width) = size("x_factor", self.x_factor, sensor.width, self.width)?;
        let (y_factor, height) = size("y_factor", self.y_factor, sensor.height, self.height)?;
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
