//! Binary frames, packed into numbers (Bina-Rep).

use super::Slicing;
use super::representation::{Representation, check_buffer, check_events, check_sensor};
use super::slicing::TimeBins;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Frames `[frames, 2, H, W]` whose values are binary numbers: bit by bit, whether there is an event in each of `bits` time
/// bins, the first bin in the highest bit; divided by 2^`bits` − 1.
///
/// ```
/// use spikelet_events::frames::{BitFrames, Representation};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitFrames {
    /// The number of frames.
    pub frames: usize,
    /// The bits of a frame, up to 24: the exact integers of a 32-bit float.
    pub bits: usize,
}

impl Default for BitFrames {
    /// 10 frames of 8 bits.
    fn default() -> Self {
        Self {
            frames: 10,
            bits: 8,
        }
    }
}

impl Settings for BitFrames {
    const NAME: &'static str = "bit-frames";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("frames", &mut self.frames), ("bits", &mut self.bits)]
    }
}

impl Representation for BitFrames {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        let is_valid = (1..1 << 20).contains(&self.frames);
        check(is_valid, Self::NAME, "frames", self.frames, "1 to 1048575")?;
        check(
            (1..=24).contains(&self.bits),
            Self::NAME,
            "bits",
            self.bits,
            "1 to 24",
        )?;
        check_sensor(Self::NAME, sensor)?;
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
        check_buffer(Self::NAME, out, shape)?;
        check_events(Self::NAME, events, sensor)?;
        let bins = TimeBins {
            bins: self.frames * self.bits,
            overlap: 0.0,
        };
        let slices = Slicing::from(bins).slices(&events.t)?;
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
