//! Times are stretched and shifted.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// t becomes `coefficient` · t + `offset`, rounded towards 0.
///
/// With `coefficient_max` or `offset_max` the value is uniform from the one to the other.
///
/// Source: tonic 1.7.0, `TimeSkew`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSkew {
    /// The factor of times.
    pub coefficient: f64,
    /// The microseconds that are added.
    pub offset: f64,
    /// The largest factor; `None`: the factor is fixed.
    pub coefficient_max: Option<f64>,
    /// The largest offset; `None`: the offset is fixed.
    pub offset_max: Option<f64>,
}

impl Default for TimeSkew {
    fn default() -> Self {
        Self {
            coefficient: 1.0,
            offset: 0.0,
            coefficient_max: None,
            offset_max: None,
        }
    }
}

impl Settings for TimeSkew {
    const NAME: &'static str = "time-skew";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("coefficient", &mut self.coefficient),
            ("offset", &mut self.offset),
            ("coefficient_max", &mut self.coefficient_max),
            ("offset_max", &mut self.offset_max),
        ]
    }
}

impl Apply for TimeSkew {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let mut draw = |field, low: f64, high: Option<f64>| -> Result<f64> {
            let high = high.unwrap_or(low);
            let is_valid = low.is_finite() && high.is_finite() && low <= high;
            check(
                is_valid,
                Self::NAME,
                field,
                low,
                "a number, at most its max",
            )?;
            Ok(if low < high {
                random.between(low, high)
            } else {
                low
            })
        };
        let coefficient = draw("coefficient", self.coefficient, self.coefficient_max)?;
        let offset = draw("offset", self.offset, self.offset_max)?;
        events
            .t
            .iter_mut()
            .for_each(|t| *t = (*t as f64 * coefficient + offset) as i64);
        Ok(())
    }
}
