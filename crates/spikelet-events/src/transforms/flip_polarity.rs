//! ON and OFF are exchanged.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// With probability `p`, all polarities are inverted.
///
/// Source: tonic 1.7.0, `RandomFlipPolarity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlipPolarity {
    /// The probability.
    pub p: f64,
}

impl Default for FlipPolarity {
    fn default() -> Self {
        Self { p: 0.5 }
    }
}

impl Settings for FlipPolarity {
    const NAME: &'static str = "flip-polarity";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("p", &mut self.p)]
    }
}

impl Apply for FlipPolarity {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a probability from 0 to 1")?;
        if random.chance(self.p) {
            events.p.iter_mut().for_each(|p| *p = u8::from(*p == 0));
        }
        Ok(())
    }
}
