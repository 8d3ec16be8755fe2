//! Histograms of averaged time surfaces (HATS).

use super::representation::{
    Representation, check_buffer, check_events, check_sensor, element_count,
};
use super::slicing::check_sorted;
use crate::settings::{Field, Settings, check};
use crate::{EventBuffer, Result, Sensor};

/// Averaged time surfaces, `[cells, 2, surface, surface]`: for each cell of the sensor and polarity, the mean of the time
/// surfaces around its events.
///
/// The surface of an event has, for every place at most ⌊`surface` / 2⌋ pixels away, the weight of the last earlier event
/// there that is of the same cell and polarity and at most `window` old; 1 is added for the event itself. Cells are
/// numbered row by row.
///
/// ```
/// use spikelet_events::frames::{AveragedTimeSurface, Representation};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// events.push(0, 0, 0, true);
/// let settings = AveragedTimeSurface { cell: 2, surface: 1, ..AveragedTimeSurface::default() };
/// assert_eq!(settings.tensor(&events, Sensor::new(2, 2))?.values, [0.0, 1.0]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: A. Sironi et al., HATS: histograms of averaged time surfaces for robust event-based object classification, 2018;
/// tonic 1.7.0, `ToAveragedTimesurface`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AveragedTimeSurface {
    /// The width and height of a cell in pixels.
    pub cell: usize,
    /// The width and height of a surface in pixels: odd, at most `cell`.
    pub surface: usize,
    /// The age of the oldest events that count, in microseconds.
    pub window: u64,
    /// The time constant in microseconds, above 0.
    pub tau: f64,
    /// The weight of an older event.
    pub decay: Decay,
}

/// The weight of an event that is Δ older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// exp(−Δ / τ)
    Exponential,
    /// 1 − Δ / (3 τ)
    Linear,
}

impl Field for Decay {
    fn read(&mut self, text: &str) -> bool {
        *self = match text {
            "exponential" => Self::Exponential,
            "linear" => Self::Linear,
            _ => return false,
        };
        true
    }

    fn text(&self) -> Option<String> {
        let name = match self {
            Self::Exponential => "exponential",
            Self::Linear => "linear",
        };
        Some(name.into())
    }

    fn expected(&self) -> &'static str {
        "exponential or linear"
    }
}

impl Default for AveragedTimeSurface {
    /// Cells of 10 × 10 pixels, surfaces of 7 × 7, a window of 100 ms, exponential decay with 50 ms.
    fn default() -> Self {
        Self {
            cell: 10,
            surface: 7,
            window: 100_000,
            tau: 50_000.0,
            decay: Decay::Exponential,
        }
    }
}

impl Settings for AveragedTimeSurface {
    const NAME: &'static str = "averaged-time-surface";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![
            ("cell", &mut self.cell),
            ("surface", &mut self.surface),
            ("window", &mut self.window),
            ("tau", &mut self.tau),
            ("decay", &mut self.decay),
        ]
    }
}

impl AveragedTimeSurface {
    fn weight(&self, age: f64) -> f64 {
        match self.decay {
            Decay::Exponential => (-age / self.tau).exp(),
            Decay::Linear => 1.0 - age / (3.0 * self.tau),
        }
    }
}

impl Representation for AveragedTimeSurface {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        let (cell, surface) = (self.cell, self.surface);
        check(cell > 0, Self::NAME, "cell", cell, "pixels, at least 1")?;
        let is_valid = surface % 2 == 1 && surface <= cell;
        check(
            is_valid,
            Self::NAME,
            "surface",
            surface,
            "an odd number, at most cell",
        )?;
        let is_positive = self.tau > 0.0 && self.tau.is_finite();
        check(
            is_positive,
            Self::NAME,
            "tau",
            self.tau,
            "microseconds above 0",
        )?;
        check_sensor(Self::NAME, sensor)?;
        let cells = |size: u32| (size as usize).div_ceil(cell);
        Ok([
            cells(sensor.width) * cells(sensor.height),
            2,
            surface,
            surface,
        ])
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::NAME, out, shape)?;
        check_events(Self::NAME, events, sensor)?;
        check_sorted(Self::NAME, &events.t)?;
        let (width, height) = (sensor.width as usize, sensor.height as usize);
        let help = "crop or downsample the recording";
        let pixels = element_count(Self::NAME, [1, 2, height, width], help)?;
        // The last event of each polarity and pixel.
        let mut last: Vec<Option<i64>> = vec![None; pixels];
        let mut counts = vec![0_u32; 2 * shape[0]];
        let radius = self.surface / 2;
        out.fill(0.0);
        for k in 0..events.len() {
            let (t, x, y) = (
                events.t[k],
                usize::from(events.x[k]),
                usize::from(events.y[k]),
            );
            let channel = usize::from(events.p[k] != 0);
            let (column, row) = (x / self.cell, y / self.cell);
            let place = 2 * (row * width.div_ceil(self.cell) + column) + channel;
            let sums =
                &mut out[place * self.surface * self.surface..][..self.surface * self.surface];
            // The part of the surface that is inside of the cell.
            let part = |at: usize, cell: usize, size: usize| {
                let (from, end) = (cell * self.cell, ((cell + 1) * self.cell).min(size));
                from.max(at.saturating_sub(radius))..end.min(at + radius + 1)
            };
            for y2 in part(y, row, height) {
                for x2 in part(x, column, width) {
                    let Some(before) = last[(channel * height + y2) * width + x2] else {
                        continue;
                    };
                    let age = t.abs_diff(before);
                    if age <= self.window {
                        let at = (y2 + radius - y) * self.surface + x2 + radius - x;
                        sums[at] += self.weight(age as f64) as f32;
                    }
                }
            }
            sums[radius * self.surface + radius] += 1.0;
            counts[place] += 1;
            last[(channel * height + y) * width + x] = Some(t);
        }
        let surfaces = out.chunks_exact_mut(self.surface * self.surface);
        for (surface, &count) in surfaces.zip(&counts) {
            surface
                .iter_mut()
                .for_each(|sum| *sum /= count.max(1) as f32);
        }
        Ok(())
    }
}
