//! Left and right are exchanged.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// With probability `p`, x becomes W − 1 − x.
///
/// Source: tonic 1.7.0, `RandomFlipLR`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlipX {
    /// The probability.
    pub p: f64,
}

impl Default for FlipX {
    fn default() -> Self {
        Self { p: 0.5 }
    }
}

impl Settings for FlipX {
    const NAME: &'static str = "flip-x";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("p", &mut self.p)]
    }
}

impl Apply for FlipX {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a probability from 0 to 1")?;
        if random.chance(self.p) {
            let last = sensor.width - 1;
            events
                .x
                .iter_mut()
                .for_each(|x| *x = (last - u32::from(*x)) as u16);
        }
        Ok(())
    }
}
