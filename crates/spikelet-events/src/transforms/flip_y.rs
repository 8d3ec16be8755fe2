//! Top and bottom are exchanged.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// With probability `p`, y becomes H − 1 − y.
///
/// Source: tonic 1.7.0, `RandomFlipUD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlipY {
    /// The probability.
    pub p: f64,
}

impl Default for FlipY {
    fn default() -> Self {
        Self { p: 0.5 }
    }
}

impl Settings for FlipY {
    const NAME: &'static str = "flip-y";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("p", &mut self.p)]
    }
}

impl Apply for FlipY {
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a probability from 0 to 1")?;
        if random.chance(self.p) {
            let last = sensor.height - 1;
            events
                .y
                .iter_mut()
                .for_each(|y| *y = (last - u32::from(*y)) as u16);
        }
        Ok(())
    }
}
