//! Frames of counts.

use std::ops::Range;

use super::Slicing;
use super::representation::{Representation, check_buffer, check_events, check_sensor};
use crate::{EventBuffer, Result, Sensor};

/// Frames of counts, `[T, P, H, W]`: F\[i, p, y, x\] is the number of events of slice i at (x, y) with polarity p.
///
/// Counts are exact up to 2²⁴ events of a pixel in a frame.
///
/// | field | default | |
/// |---|---|---|
/// | `slicing` | 16 frames by number | the events of each frame |
/// | `merge_polarities` | false | whether ON and OFF events are counted in one channel, P = 1; else P = 2, OFF first |
///
/// ```
/// use spikelet_events::frames::{ByNumber, CountFrames, Representation};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// events.push(7, 1, 0, true);
/// let frames = CountFrames::new(ByNumber { frames: 1 }).tensor(&events, Sensor::new(2, 1))?;
/// assert_eq!(frames.values, [0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountFrames {
    /// The events of each frame.
    pub slicing: Slicing,
    /// Whether ON and OFF events are counted in one channel.
    pub merge_polarities: bool,
}

const NAME: &str = "count frames";

impl CountFrames {
    /// Frames of a slicing, with a channel for each polarity.
    #[must_use]
    pub fn new(slicing: impl Into<Slicing>) -> Self {
        Self {
            slicing: slicing.into(),
            merge_polarities: false,
        }
    }

    /// The number of channels.
    fn channels(&self) -> usize {
        if self.merge_polarities { 1 } else { 2 }
    }

    /// Counts the events of slices into `[slices, P, H, W]`. Allocates nothing.
    ///
    /// Slices beyond the last event are cut there.
    ///
    /// # Errors
    /// [`ErrorKind::Outside`](crate::ErrorKind::Outside) if an event is outside of the sensor,
    /// [`Columns`](crate::ErrorKind::Columns), [`BufferLength`](crate::ErrorKind::BufferLength),
    /// [`Setting`](crate::ErrorKind::Setting) for a sensor without pixels.
    pub fn fill_slices(
        &self,
        events: &EventBuffer,
        sensor: Sensor,
        slices: &[Range<usize>],
        out: &mut [f32],
    ) -> Result<()> {
        check_events(NAME, events, sensor)?;
        let (width, height) = (sensor.width as usize, sensor.height as usize);
        check_buffer(NAME, out, [slices.len(), self.channels(), height, width])?;
        out.fill(0.0);
        let frames = out.chunks_exact_mut(self.channels() * width * height);
        for (frame, slice) in frames.zip(slices) {
            let end = slice.end.min(events.len());
            let range = slice.start.min(end)..end;
            let on = if self.merge_polarities {
                0
            } else {
                width * height
            };
            let (x, y) = (&events.x[range.clone()], &events.y[range.clone()]);
            for ((&x, &y), &p) in x.iter().zip(y).zip(&events.p[range]) {
                let channel = if p == 0 { 0 } else { on };
                frame[channel + usize::from(y) * width + usize::from(x)] += 1.0;
            }
        }
        Ok(())
    }
}

impl Representation for CountFrames {
    fn name(&self) -> &'static str {
        NAME
    }

    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        check_sensor(NAME, sensor)?;
        let frames = self.slicing.slices(&events.t)?.len();
        let (width, height) = (sensor.width as usize, sensor.height as usize);
        Ok([frames, self.channels(), height, width])
    }

    fn steps(&self) -> Option<usize> {
        self.slicing.len()
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        self.fill_slices(events, sensor, &self.slicing.slices(&events.t)?, out)
    }
}
