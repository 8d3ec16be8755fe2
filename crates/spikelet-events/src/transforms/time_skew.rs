//! Times are stretched and shifted.

use super::EventTransform;
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// t becomes `coefficient` · t + `offset`, rounded towards 0.
///
/// With `coefficient_max` or `offset_max` the value is uniform from the one to the other.
///
/// Source: tonic 1.7.0, `TimeSkew`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = EventTransform::fits)]
pub struct TimeSkew {
    /// The factor of times.
    #[schema(main, default = 1.0)]
    pub coefficient: f64,
    /// The microseconds that are added.
    #[schema(default = 0.0)]
    pub offset: f64,
    /// The largest factor; `None`: the factor is fixed.
    pub coefficient_max: Option<f64>,
    /// The largest offset; `None`: the offset is fixed.
    pub offset_max: Option<f64>,
}

impl EventTransform for TimeSkew {
    fn change(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let mut draw = |low: f64, high: Option<f64>| match high {
            Some(high) if low < high => random.between(low, high),
            _ => low,
        };
        let coefficient = draw(self.coefficient, self.coefficient_max);
        let offset = draw(self.offset, self.offset_max);
        events
            .t
            .iter_mut()
            .for_each(|t| *t = (*t as f64 * coefficient + offset) as i64);
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        for (field, low, high) in [
            ("coefficient", self.coefficient, self.coefficient_max),
            ("offset", self.offset, self.offset_max),
        ] {
            let high = high.unwrap_or(low);
            let fits = low.is_finite() && high.is_finite() && low <= high;
            check(
                fits,
                Self::DECLARATION.name,
                field,
                low,
                "a number, at most its max",
            )?;
        }
        Ok(())
    }
}
