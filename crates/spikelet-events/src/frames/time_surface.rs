//! Time surfaces.

use super::representation::{Representation, check_buffer, check_events, check_sensor};
use super::slicing::{TimeWindows, check_sorted};
use super::{Slicing, representation};
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Time surfaces, `[T, 2, H, W]`: at the end of every window, exp(−(end − t) / `tau`) for the last event t of each pixel and
/// polarity so far, 0 without one.
///
/// Windows start at the first event; an incomplete last window is left out.
///
/// ```
/// use spikelet_events::frames::{Representation, TimeSurface};
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSurface {
    /// The duration of a window in microseconds.
    pub window: u64,
    /// The time constant in microseconds, above 0.
    pub tau: f64,
}

impl Default for TimeSurface {
    /// Windows of 50 ms, a time constant of 30 ms.
    fn default() -> Self {
        Self {
            window: 50_000,
            tau: 30_000.0,
        }
    }
}

impl Settings for TimeSurface {
    const NAME: &'static str = "time-surface";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("window", &mut self.window), ("tau", &mut self.tau)]
    }
}

impl TimeSurface {
    fn slicing(&self) -> Slicing {
        let window = self.window;
        Slicing::from(TimeWindows {
            window,
            ..TimeWindows::default()
        })
    }
}

impl Representation for TimeSurface {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        let is_positive = self.tau > 0.0 && self.tau.is_finite();
        check(
            is_positive,
            Self::NAME,
            "tau",
            self.tau,
            "microseconds above 0",
        )?;
        check_sensor(Self::NAME, sensor)?;
        let windows = self.slicing().slices(&events.t)?.len();
        Ok([windows, 2, sensor.height as usize, sensor.width as usize])
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::NAME, out, shape)?;
        check_events(Self::NAME, events, sensor)?;
        check_sorted(Self::NAME, &events.t)?;
        let pixels = shape[2] * shape[3];
        let help = "crop or downsample the recording";
        let len = representation::element_count(Self::NAME, [1, 2, shape[2], shape[3]], help)?;
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
