//! Voxel grids.

use super::rule::{FrameRule, check_buffer, check_events, check_rule, check_sensor};
use super::slicing::check_sorted;
use crate::{ErrorKind, EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// A voxel grid, `[bins, 1, H, W]`: polarities ±1, shared between the two nearest bins of time.
///
/// s = `bins` · (t − t₀) / (t_last − t₀), i = ⌊s⌋: an event adds ±(1 − (s − i)) to bin i and ±(s − i) to bin i + 1.
/// There is no bin after the last one, so that the last event adds nothing.
///
/// ```
/// use spikelet_events::frames::{FrameRule, VoxelGrid};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut events = EventBuffer::default();
/// for (t, on) in [(0, true), (5, false), (20, true)] {
///     events.push(t, 0, 0, on);
/// }
/// let grid = VoxelGrid { bins: 2 }.tensor(&events, Sensor::new(1, 1))?;
/// assert_eq!(grid.values, [0.5, -0.5]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: A. Zhu et al., Unsupervised event-based learning of optical flow, depth, and egomotion, 2019; tonic 1.7.0,
/// `ToVoxelGrid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct VoxelGrid {
    /// The number of bins.
    #[schema(main, default = 10, at_least = 1)]
    pub bins: usize,
}

impl FrameRule for VoxelGrid {
    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        check_rule(self)?;
        check_sensor(Self::DECLARATION.name, sensor)?;
        Ok([self.bins, 1, sensor.height as usize, sensor.width as usize])
    }

    fn steps(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::DECLARATION.name, out, shape)?;
        check_events(Self::DECLARATION.name, events, sensor)?;
        check_sorted(Self::DECLARATION.name, &events.t)?;
        out.fill(0.0);
        let Some((&first, &last)) = events.t.first().zip(events.t.last()) else {
            return Ok(());
        };
        if first == last {
            return Err(ErrorKind::NoDuration {
                of: Self::DECLARATION.name,
                events: events.len(),
                time: first,
            }
            .into());
        }
        let pixels = shape[2] * shape[3];
        let since_first = |t: i64| (i128::from(t) - i128::from(first)) as f64;
        for k in 0..events.len() {
            let position = self.bins as f64 * since_first(events.t[k]) / since_first(last);
            let bin = position as usize;
            let part = position - bin as f64;
            let polarity = if events.p[k] == 0 { -1.0 } else { 1.0 };
            let pixel = usize::from(events.y[k]) * shape[3] + usize::from(events.x[k]);
            for (bin, weight) in [(bin, 1.0 - part), (bin + 1, part)] {
                if bin < self.bins {
                    out[bin * pixels + pixel] += (polarity * weight) as f32;
                }
            }
        }
        Ok(())
    }
}
