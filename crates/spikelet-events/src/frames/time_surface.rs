//! Time surfaces.

use super::rule::{FrameRule, check_buffer, check_events, check_rule, check_sensor, element_count};
use super::slicing::{Slicing, TimeWindows, check_sorted};
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Time surfaces, `[T, 2, H, W]`: at the end of every window, exp(−(end − t) / `tau`) for the last event t of each pixel and
/// polarity so far, 0 without one.
///
/// Windows start at the first event; an incomplete last window is left out.
///
/// ```
/// use spikelet_events::frames::{FrameRule, TimeSurface};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// events.push(0, 0, 0, true);
/// events.push(10, 0, 0, true);
/// let surface = TimeSurface { window: 10, tau: 10.0 }.tensor(&events, Sensor::new(1, 1))?;
/// assert_eq!(surface.values, [0.0, (-1.0_f64).exp() as f32]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: X. Lagorce et al., HOTS: a hierarchy of event-based time-surfaces for pattern recognition, 2017; tonic 1.7.0,
/// `ToTimesurface`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct TimeSurface {
    /// The duration of a window in microseconds.
    #[schema(main, default = 50_000, at_least = 1)]
    pub window: u64,
    /// The time constant in microseconds, above 0.
    #[schema(default = 30_000.0, above = 0)]
    pub tau: f64,
}

impl TimeSurface {
    fn slicing(&self) -> TimeWindows {
        TimeWindows {
            window: self.window,
            ..TimeWindows::default()
        }
    }
}

impl FrameRule for TimeSurface {
    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        check_rule(self)?;
        check_sensor(Self::DECLARATION.name, sensor)?;
        let windows = self.slicing().slices(&events.t)?.len();
        Ok([windows, 2, sensor.height as usize, sensor.width as usize])
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::DECLARATION.name, out, shape)?;
        check_events(Self::DECLARATION.name, events, sensor)?;
        check_sorted(Self::DECLARATION.name, &events.t)?;
        let pixels = shape[2] * shape[3];
        let help = "crop or downsample the recording";
        let len = element_count(Self::DECLARATION.name, [1, 2, shape[2], shape[3]], help)?;
        let mut last = vec![f64::NEG_INFINITY; len];
        let first = events.t.first().copied().unwrap_or(0) as f64;
        let slices = self.slicing().slices(&events.t)?;
        let surfaces = out.chunks_exact_mut(2 * pixels);
        for ((window, surface), slice) in surfaces.enumerate().zip(slices) {
            for k in slice {
                let pixel = usize::from(events.y[k]) * shape[3] + usize::from(events.x[k]);
                let channel = usize::from(events.p[k] != 0);
                last[channel * pixels + pixel] = events.t[k] as f64;
            }
            let end = (window + 1) as f64 * self.window as f64 + first;
            for (value, last) in surface.iter_mut().zip(&last) {
                *value = ((last - end) / self.tau).exp() as f32;
            }
        }
        Ok(())
    }
}
