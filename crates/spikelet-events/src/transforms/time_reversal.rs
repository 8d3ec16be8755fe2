//! Time runs backwards.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// With probability `p`, t becomes t_max − t and the order is reversed.
///
/// Source: tonic 1.7.0, `RandomTimeReversal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeReversal {
    /// The probability.
    pub p: f64,
    /// Whether polarities are inverted as well.
    pub flip_polarities: bool,
}

impl Default for TimeReversal {
    fn default() -> Self {
        Self {
            p: 0.5,
            flip_polarities: true,
        }
    }
}

impl Settings for TimeReversal {
    const NAME: &'static str = "time-reversal";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("p", &mut self.p),
            ("flip_polarities", &mut self.flip_polarities),
        ]
    }
}

impl Apply for TimeReversal {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a probability from 0 to 1")?;
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
