//! Frames of counts.

use std::ops::Range;
use std::sync::Arc;

use spikelet_schema::{Member, Schema};

use super::Slicing;
use super::rule::{FrameRule, check_buffer, check_events, check_sensor};
use super::slicing::DeviceSlicing;
use super::stream::FrameEnd;
use crate::{EventBuffer, Result, Sensor};

/// Frames of counts, `[T, P, H, W]`: F\[i, p, y, x\] is the number of events of slice i at (x, y) with polarity p.
///
/// Counts are exact up to 2²⁴ events of a pixel in a frame.
///
/// A slicing alone is a rule of frames with two channels, OFF first: `number=16`.
///
/// ```
/// use spikelet_events::frames::{ByNumber, CountFrames, FrameRule};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// events.push(7, 1, 0, true);
/// let frames = CountFrames::new(ByNumber { frames: 1 }).tensor(&events, Sensor::new(2, 1))?;
/// assert_eq!(frames.values, [0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(name = "counts")]
pub struct CountFrames {
    /// The events of each frame.
    #[schema(main)]
    pub slicing: Member<dyn Slicing>,
    /// Whether ON and OFF events are counted in one channel.
    pub merge_polarities: bool,
}

impl CountFrames {
    /// Frames of a slicing, with a channel for each polarity.
    #[must_use]
    pub fn new(slicing: impl Slicing + 'static) -> Self {
        Self {
            slicing: Member(Arc::new(slicing)),
            merge_polarities: false,
        }
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
        let of = Self::DECLARATION.name;
        fill(of, self.merge_polarities, events, sensor, slices, out)
    }
}

/// The number of channels.
fn channels(merge_polarities: bool) -> usize {
    if merge_polarities { 1 } else { 2 }
}

/// The shape of the counts of a slicing.
pub(super) fn shape<S: Slicing + ?Sized>(
    slicing: &S,
    merge_polarities: bool,
    events: &EventBuffer,
    sensor: Sensor,
) -> Result<[usize; 4]> {
    check_sensor(slicing.declaration().name, sensor)?;
    let frames = slicing.slices(&events.t)?.len();
    let (width, height) = (sensor.width as usize, sensor.height as usize);
    Ok([frames, channels(merge_polarities), height, width])
}

/// Counts the events of slices.
pub(super) fn fill(
    of: &'static str,
    merge_polarities: bool,
    events: &EventBuffer,
    sensor: Sensor,
    slices: &[Range<usize>],
    out: &mut [f32],
) -> Result<()> {
    check_events(of, events, sensor)?;
    let (width, height) = (sensor.width as usize, sensor.height as usize);
    let channels = channels(merge_polarities);
    check_buffer(of, out, [slices.len(), channels, height, width])?;
    out.fill(0.0);
    let on = (channels - 1) * width * height;
    let frames = out.chunks_exact_mut(channels * width * height);
    for (frame, slice) in frames.zip(slices) {
        let end = slice.end.min(events.len());
        let range = slice.start.min(end)..end;
        let (x, y) = (&events.x[range.clone()], &events.y[range.clone()]);
        for ((&x, &y), &p) in x.iter().zip(y).zip(&events.p[range]) {
            let channel = if p == 0 { 0 } else { on };
            frame[channel + usize::from(y) * width + usize::from(x)] += 1.0;
        }
    }
    Ok(())
}

impl FrameRule for CountFrames {
    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        shape(&*self.slicing, self.merge_polarities, events, sensor)
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        self.fill_slices(events, sensor, &self.slicing.slices(&events.t)?, out)
    }

    fn steps(&self) -> Option<usize> {
        self.slicing.len()
    }

    fn on_device(&self) -> Option<DeviceSlicing> {
        let slicing = self.slicing.on_device();
        slicing.filter(|_| !self.merge_polarities)
    }

    fn end_in_stream(&self) -> Option<FrameEnd> {
        let end = self.slicing.end_in_stream();
        end.filter(|_| !self.merge_polarities)
    }
}
