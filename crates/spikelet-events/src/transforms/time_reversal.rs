//! Time runs backwards.

use super::EventTransform;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// With probability `p`, t becomes t_max − t and the order is reversed.
///
/// Source: tonic 1.7.0, `RandomTimeReversal`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct TimeReversal {
    /// The probability.
    #[schema(main, default = 0.5, from = 0, to = 1)]
    pub p: f64,
    /// Whether polarities are inverted as well.
    #[schema(default = true)]
    pub flip_polarities: bool,
}

impl EventTransform for TimeReversal {
    fn change(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        if random.chance(self.p) {
            let last = events.t.iter().max().copied().unwrap_or(0);
            events
                .t
                .iter_mut()
                .for_each(|t| *t = last.saturating_sub(*t));
            if self.flip_polarities {
                events.p.iter_mut().for_each(|p| *p = u8::from(*p == 0));
            }
            events.t.reverse();
            events.x.reverse();
            events.y.reverse();
            events.p.reverse();
        }
        Ok(())
    }
}
