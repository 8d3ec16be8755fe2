//! Binary frames, packed into numbers (Bina-Rep).

use super::rule::{FrameRule, check_buffer, check_events, check_rule, check_sensor};
use super::slicing::{Slicing, TimeBins};
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Frames `[frames, 2, H, W]` whose values are binary numbers: bit by bit, whether there is an event in each of `bits` time
/// bins, the first bin in the highest bit; divided by 2^`bits` − 1.
///
/// ```
/// use spikelet_events::frames::{BitFrames, FrameRule};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// events.push(0, 0, 0, true);
/// events.push(20, 0, 0, true);
/// let frames = BitFrames { frames: 1, bits: 2 }.tensor(&events, Sensor::new(1, 1))?;
/// assert_eq!(frames.values, [0.0, 2.0 / 3.0]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: S. Barchid et al., Bina-Rep event frames, 2022; tonic 1.7.0, `ToBinaRep` of `ToFrame(n_time_bins=…)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct BitFrames {
    /// The number of frames.
    #[schema(main, default = 10, at_least = 1, at_most = (1 << 20) - 1)]
    pub frames: usize,
    /// The bits of a frame, up to 24: the exact integers of a 32-bit float.
    #[schema(default = 8, at_least = 1, at_most = 24)]
    pub bits: usize,
}

impl FrameRule for BitFrames {
    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        check_rule(self)?;
        check_sensor(Self::DECLARATION.name, sensor)?;
        Ok([
            self.frames,
            2,
            sensor.height as usize,
            sensor.width as usize,
        ])
    }

    fn steps(&self) -> Option<usize> {
        Some(self.frames)
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::DECLARATION.name, out, shape)?;
        check_events(Self::DECLARATION.name, events, sensor)?;
        let bins = TimeBins {
            bins: self.frames * self.bits,
            overlap: 0.0,
        };
        let slices = bins.slices(&events.t)?;
        let (width, pixels) = (shape[3], shape[2] * shape[3]);
        let bit = |k: usize| 1_u32 << (self.bits - 1 - k % self.bits);
        out.fill(0.0);
        for (k, slice) in slices.into_iter().enumerate() {
            let frame = &mut out[k / self.bits * 2 * pixels..][..2 * pixels];
            for event in slice {
                let channel = usize::from(events.p[event] != 0) * pixels;
                let pixel = usize::from(events.y[event]) * width + usize::from(events.x[event]);
                let value = &mut frame[channel + pixel];
                *value = (*value as u32 | bit(k)) as f32;
            }
        }
        let largest = ((1_u32 << self.bits) - 1) as f32;
        out.iter_mut().for_each(|value| *value /= largest);
        Ok(())
    }
}
