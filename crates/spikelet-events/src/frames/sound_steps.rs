//! Frames of spiking audio by their time, from events.

use super::rule::{FrameRule, check_buffer, check_events, check_rule, check_sensor};
use super::stream::FrameEnd;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Frames of a cochlea, whose channel is the column of an event: frame ⌊t / `step`⌋. Later events are left out.
///
/// These are the frames of [`SoundRule::Steps`](super::SoundRule::Steps), for events instead of spikes in seconds.
///
/// ```
/// use spikelet_events::frames::{FrameRule, SoundSteps};
/// use spikelet_events::{EventBuffer, Sensor};
///
/// let mut spikes = EventBuffer::default();
/// for (t, unit) in [(1_000, 0), (12_000, 2), (13_000, 3)] {
///     spikes.push(t, unit, 0, true);
/// }
/// let steps = SoundSteps { steps: 2, step: 10_000, group: 2, ..SoundSteps::default() };
/// let frames = steps.tensor(&spikes, Sensor::new(4, 1))?;
/// assert_eq!((frames.shape, frames.values), (vec![2, 1, 1, 2], vec![1.0, 0.0, 0.0, 2.0]));
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "sound")]
pub struct SoundSteps {
    /// The number of frames.
    #[schema(main, default = 100, at_least = 1, at_most = 1 << 20)]
    pub steps: usize,
    /// The microseconds of a frame.
    #[schema(default = 10_000, at_least = 1)]
    pub step: u64,
    /// The neighboring channels that are counted as one; a divisor of the number of channels.
    #[schema(default = 5, at_least = 1)]
    pub group: usize,
    /// Whether a count is at most 1.
    pub binary: bool,
}

impl FrameRule for SoundSteps {
    fn shape(&self, _: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        let of = Self::DECLARATION.name;
        check_rule(self)?;
        check_sensor(of, sensor)?;
        check(
            sensor.height == 1,
            of,
            "sensor",
            sensor,
            "one row, as a cochlea has",
        )?;
        let channels = sensor.width as usize;
        let divides = channels.is_multiple_of(self.group);
        let expected = "a divisor of the number of channels";
        check(divides, of, "group", self.group, expected)?;
        Ok([self.steps, 1, 1, channels / self.group])
    }

    fn steps(&self) -> Option<usize> {
        Some(self.steps)
    }

    fn end_in_stream(&self) -> Option<FrameEnd> {
        Some(FrameEnd::Sound(*self))
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        let shape = self.shape(events, sensor)?;
        check_buffer(Self::DECLARATION.name, out, shape)?;
        check_events(Self::DECLARATION.name, events, sensor)?;
        out.fill(0.0);
        let columns = shape[3];
        for (&t, &unit) in events.t.iter().zip(&events.x) {
            let step = u64::try_from(t).ok().map(|t| t / self.step);
            let Some(step) = step.filter(|&step| step < self.steps as u64) else {
                continue;
            };
            let count = &mut out[step as usize * columns + usize::from(unit) / self.group];
            *count = if self.binary { 1.0 } else { *count + 1.0 };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_before_the_start_and_after_the_last_frame_are_left_out() -> Result<()> {
        let mut spikes = EventBuffer::default();
        for t in [-1, 0, 9_999, 10_000, 10_001, 19_999, 20_000] {
            spikes.push(t, 0, 0, true);
        }
        let frames = |binary| {
            let steps = SoundSteps {
                steps: 2,
                group: 1,
                binary,
                ..SoundSteps::default()
            };
            steps.tensor(&spikes, Sensor::new(1, 1))
        };
        assert_eq!(frames(false)?.values, [2.0, 3.0]);
        assert_eq!(frames(true)?.values, [1.0, 1.0]);
        Ok(())
    }

    #[test]
    fn settings_and_sensors_that_do_not_fit_are_errors() {
        let events = EventBuffer::default();
        let refused = |steps: SoundSteps, sensor| steps.tensor(&events, sensor).is_err();
        let (cochlea, default) = (Sensor::new(700, 1), SoundSteps::default());
        assert!(!refused(default, cochlea));
        assert!(refused(default, Sensor::new(34, 34)));
        assert!(refused(default, Sensor::new(701, 1)));
        for steps in [
            SoundSteps {
                steps: 0,
                ..default
            },
            SoundSteps { step: 0, ..default },
            SoundSteps {
                group: 0,
                ..default
            },
        ] {
            assert!(refused(steps, cochlea));
        }
    }
}
