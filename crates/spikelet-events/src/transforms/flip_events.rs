//! An axis is mirrored, or ON and OFF are exchanged.

use super::EventTransform;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// With probability `p`, x becomes W − 1 − x, y becomes H − 1 − y, or all polarities are inverted.
///
/// Source: tonic 1.7.0, `RandomFlipLR`, `RandomFlipUD`, `RandomFlipPolarity`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct FlipEvents {
    /// The probability.
    #[schema(main, default = 0.5, from = 0, to = 1)]
    pub p: f64,
    /// The axis.
    #[schema(default = FlipAxis::X)]
    pub axis: FlipAxis,
}

/// The axis of [`FlipEvents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum FlipAxis {
    /// Left and right are exchanged.
    X,
    /// Top and bottom are exchanged.
    Y,
    /// ON and OFF are exchanged.
    Polarity,
}

impl EventTransform for FlipEvents {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        if !random.chance(self.p) {
            return Ok(());
        }
        let mirror = |places: &mut [u16], size: u32| {
            let mirrored = |place: &mut u16| *place = (size - 1 - u32::from(*place)) as u16;
            places.iter_mut().for_each(mirrored);
        };
        match self.axis {
            FlipAxis::X => mirror(&mut events.x, sensor.width),
            FlipAxis::Y => mirror(&mut events.y, sensor.height),
            FlipAxis::Polarity => events.p.iter_mut().for_each(|p| *p = u8::from(*p == 0)),
        }
        Ok(())
    }
}
