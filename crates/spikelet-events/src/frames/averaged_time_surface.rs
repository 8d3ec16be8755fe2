//! Histograms of averaged time surfaces (HATS).

use std::collections::{HashMap, VecDeque};

use super::rule::{FrameRule, check_buffer, check_events, check_rule, check_sensor};
use super::slicing::check_sorted;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Averaged time surfaces, `[cells, 2, surface, surface]`: for each cell of the sensor and polarity, the mean of the time
/// surfaces around its events.
///
/// The surface of an event has, for every place at most ⌊`surface` / 2⌋ pixels away, the sum of the weights of all earlier
/// events there that are of the same cell and polarity and at most `window` old; 1 is added for the event itself. Cells are
/// numbered row by row.
///
/// ```
/// use spikelet_events::frames::{AveragedTimeSurface, FrameRule};
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
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = FrameRule::fits)]
pub struct AveragedTimeSurface {
    /// The width and height of a cell in pixels.
    #[schema(main, default = 10, at_least = 1)]
    pub cell: usize,
    /// The width and height of a surface in pixels: odd, at most `cell`.
    #[schema(default = 7, at_least = 1)]
    pub surface: usize,
    /// The age of the oldest events that count, in microseconds.
    #[schema(default = 100_000)]
    pub window: u64,
    /// The time constant in microseconds, above 0.
    #[schema(default = 50_000.0, above = 0)]
    pub tau: f64,
    /// The weight of an older event.
    #[schema(default = Decay::Exponential)]
    pub decay: Decay,
}

/// The weight of an event that is Δ older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum Decay {
    /// exp(−Δ / τ)
    Exponential,
    /// 1 − Δ / (3 τ)
    Linear,
}

impl AveragedTimeSurface {
    fn weight(&self, age: f64) -> f64 {
        match self.decay {
            Decay::Exponential => (-age / self.tau).exp(),
            Decay::Linear => 1.0 - age / (3.0 * self.tau),
        }
    }
}

/// What a cell remembers of a polarity.
#[derive(Default)]
struct Memory {
    /// The time, column and row of the events of the window, in the order of time.
    events: VecDeque<(i64, usize, usize)>,
    /// The sum of the surfaces of all events.
    surface: Vec<f64>,
    /// The number of all events.
    count: u32,
}

impl Memory {
    /// Removes the events that are more than `window` older than `now`.
    fn forget(&mut self, now: i64, window: u64) {
        let is_old = |&(t, ..): &(i64, usize, usize)| now.abs_diff(t) > window;
        while self.events.front().is_some_and(is_old) {
            self.events.pop_front();
        }
    }
}

impl FrameRule for AveragedTimeSurface {
    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        let (cell, surface) = (self.cell, self.surface);
        check_rule(self)?;
        check_sensor(Self::DECLARATION.name, sensor)?;
        let cells = |size: u32| (size as usize).div_ceil(cell);
        Ok([
            cells(sensor.width) * cells(sensor.height),
            2,
            surface,
            surface,
        ])
    }

    fn fits(&self) -> Result<()> {
        let fits = self.surface % 2 == 1 && self.surface <= self.cell;
        let expected = "an odd number, at most cell";
        let of = Self::DECLARATION.name;
        check(fits, of, "surface", self.surface, expected)
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::DECLARATION.name, out, shape)?;
        check_events(Self::DECLARATION.name, events, sensor)?;
        check_sorted(Self::DECLARATION.name, &events.t)?;
        let columns = (sensor.width as usize).div_ceil(self.cell);
        let size = self.surface * self.surface;
        let radius = self.surface / 2;
        // Those of the cells with events: as large as the recording, not as the sensor.
        let mut memories: HashMap<usize, Memory> = HashMap::new();
        for k in 0..events.len() {
            let t = events.t[k];
            let [x, y] = [events.x[k], events.y[k]].map(usize::from);
            let cell = (y / self.cell) * columns + x / self.cell;
            let place = 2 * cell + usize::from(events.p[k] != 0);
            let memory = memories.entry(place).or_default();
            memory.forget(t, self.window);
            memory.surface.resize(size, 0.0);
            for &(before, x2, y2) in &memory.events {
                let (column, line) = (x2 + radius, y2 + radius);
                let is_near = |at: usize, own: usize| (own..=own + 2 * radius).contains(&at);
                if is_near(column, x) && is_near(line, y) {
                    let at = (line - y) * self.surface + column - x;
                    memory.surface[at] += self.weight(t.abs_diff(before) as f64);
                }
            }
            memory.surface[radius * self.surface + radius] += 1.0;
            memory.count += 1;
            memory.events.push_back((t, x, y));
        }
        out.fill(0.0);
        for (place, memory) in memories {
            for (value, sum) in out[place * size..].iter_mut().zip(memory.surface) {
                *value = (sum / f64::from(memory.count)) as f32;
            }
        }
        Ok(())
    }
}
