//! Frames of events that arrive one after the other.

use super::rule::check_rule;
use super::{FrameRule, SoundSteps, check_events, check_sensor};
use crate::settings::invalid;
use crate::{ErrorKind, EventBuffer, Result, Sensor};

/// The most frames without events between two events.
const MAX_GAP: u64 = 1 << 22;

/// When a frame of a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameEnd {
    /// After so many microseconds from the first event, and again.
    Duration(u64),
    /// After so many events.
    Events(usize),
    /// After so many microseconds from time 0, and again; channels are counted in groups.
    Sound(SoundSteps),
}

/// The frames of a stream of events, one after the other, in the memory of one frame.
///
/// Frames are those of [`ByDuration`](super::ByDuration), [`EventCounts`](super::EventCounts) without overlap and
/// [`SoundSteps`], whose number of steps does not end a stream. The frame that is not complete at the end of a recording is
/// given by [`finish`](Self::finish). An event at the very end of the last frame of a duration, which
/// [`ByDuration`](super::ByDuration) counts in that frame, begins another one here.
///
/// ```
/// use spikelet_events::frames::{ByDuration, FrameStream};
/// use spikelet_events::{Error, EventBuffer, Sensor};
///
/// let mut stream = FrameStream::new(&ByDuration { duration: 20 }, Sensor::new(2, 1))?;
/// let mut frames = vec![];
/// for t in [5, 10, 60] {
///     let mut events = EventBuffer::default();
///     events.push(t, 1, 0, true);
///     stream.push(&events, |frame| {
///         frames.push(frame.to_vec()); // [P, H, W]
///         Ok::<(), Error>(())
///     })?;
/// }
/// assert_eq!(frames, [[0.0, 0.0, 0.0, 2.0], [0.0; 4]]); // from 5 to 25, from 25 to 45
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameStream {
    end: FrameEnd,
    sensor: Sensor,
    /// The frame that is not complete.
    frame: Vec<f32>,
    /// The time at which the frames begin.
    start: Option<i64>,
    /// The time of the last event.
    last: i64,
    /// The number of complete frames.
    frames: u64,
    /// The number of events in the frame that is not complete.
    events: usize,
}

impl FrameStream {
    /// Frames of this rule.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for a rule that needs the end of a recording, or is out of range for the sensor.
    pub fn new(rule: &dyn FrameRule, sensor: Sensor) -> Result<Self> {
        check_sensor("stream", sensor)?;
        let pixels = sensor.width as usize * sensor.height as usize;
        check_rule(rule)?;
        let end = rule.end_in_stream().ok_or_else(|| {
            let expected = "duration=MICROSECONDS, event-counts=NUMBER without overlap, or sound: \
                            the others need the end of a recording";
            invalid("stream", "frames", rule.declaration().name, expected)
        })?;
        let elements = match end {
            FrameEnd::Sound(rule) => rule.shape(&EventBuffer::default(), sensor)?[3],
            _ => 2 * pixels,
        };
        Ok(Self {
            end,
            sensor,
            frame: vec![0.0; elements],
            start: None,
            last: i64::MIN,
            frames: 0,
            events: 0,
        })
    }

    /// The number of complete frames so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Adds events, and gives each frame that they complete: `[P, H, W]`, or the channels of a cochlea.
    ///
    /// # Errors
    /// [`ErrorKind::Outside`], [`ErrorKind::Columns`]; for frames of a duration [`ErrorKind::Unsorted`], and
    /// [`ErrorKind::TooLarge`] if more than 4,194,304 frames in a row would be empty. The error of `each`.
    pub fn push<E: From<crate::Error>>(
        &mut self,
        events: &EventBuffer,
        mut each: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        check_events("stream", events, self.sensor)?;
        let (width, pixels) = (
            self.sensor.width as usize,
            self.sensor.width as usize * self.sensor.height as usize,
        );
        for at in 0..events.len() {
            self.advance(events.t[at], at, &mut each)?;
            let (x, y) = (usize::from(events.x[at]), usize::from(events.y[at]));
            let place = match self.end {
                FrameEnd::Sound(rule) => x / rule.group,
                _ => usize::from(events.p[at] != 0) * pixels + y * width + x,
            };
            let count = &mut self.frame[place];
            *count = match self.end {
                FrameEnd::Sound(rule) if rule.binary => 1.0,
                _ => *count + 1.0,
            };
            self.events += 1;
        }
        if let FrameEnd::Events(count) = self.end
            && self.events == count
        {
            self.complete(&mut each)?;
        }
        Ok(())
    }

    /// Gives the frames that end before an event at time `t`.
    fn advance<E: From<crate::Error>>(
        &mut self,
        t: i64,
        at: usize,
        each: &mut impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (step, start) = match self.end {
            FrameEnd::Events(count) => {
                if self.events == count {
                    self.complete(each)?;
                }
                return Ok(());
            }
            FrameEnd::Duration(duration) => (duration, *self.start.get_or_insert(t)),
            FrameEnd::Sound(rule) => (rule.step, *self.start.get_or_insert(0)),
        };
        if t < self.last {
            let error = ErrorKind::Unsorted {
                of: "stream",
                event: at,
                time: t,
                before: self.last,
            };
            return Err(crate::Error::from(error).into());
        }
        self.last = t;
        // Times before the start are in the first frame.
        let frame = (i128::from(t) - i128::from(start)).max(0) as u128 / u128::from(step);
        let gap = frame.saturating_sub(u128::from(self.frames));
        if gap > u128::from(MAX_GAP) {
            let error = ErrorKind::TooLarge {
                of: "stream",
                given: gap.to_string(),
                unit: "frames without events",
                limit: MAX_GAP as usize,
                help: "start a new stream where the time jumps, or use longer frames",
            };
            return Err(crate::Error::from(error).into());
        }
        for _ in 0..gap {
            self.complete(each)?;
        }
        Ok(())
    }

    /// Gives the frame, and begins the next one.
    fn complete<E>(&mut self, each: &mut impl FnMut(&[f32]) -> Result<(), E>) -> Result<(), E> {
        self.frames += 1;
        each(&self.frame)?;
        self.frame.fill(0.0);
        self.events = 0;
        Ok(())
    }

    /// Gives the frame that is not complete, if it has events; the next event begins a new stream.
    ///
    /// # Errors
    /// The error of `each`.
    pub fn finish<E>(&mut self, mut each: impl FnMut(&[f32]) -> Result<(), E>) -> Result<(), E> {
        if self.events > 0 {
            self.complete(&mut each)?;
        }
        (self.start, self.last, self.frames) = (None, i64::MIN, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventRandom;
    use spikelet_schema::Member;

    fn rule(text: &str) -> Member<dyn FrameRule> {
        text.parse().expect("a rule")
    }

    /// Random events, sorted by time, with silences.
    fn recording(sensor: Sensor) -> EventBuffer {
        let mut random = EventRandom::new(1, 0, 0);
        let (mut events, mut t) = (EventBuffer::default(), 1_000_003);
        for _ in 0..3000 {
            t += random.below(40) as i64;
            if random.chance(0.002) {
                t += 5000;
            }
            let (x, y) = (
                random.below(sensor.width.into()),
                random.below(sensor.height.into()),
            );
            events.push(t, x as u16, y as u16, random.chance(0.5));
        }
        events
    }

    /// The frames of a stream that comes in blocks of `size` events.
    fn streamed(
        rule: &dyn FrameRule,
        sensor: Sensor,
        events: &EventBuffer,
        size: usize,
    ) -> Vec<f32> {
        let mut stream = FrameStream::new(rule, sensor).expect("a rule of streams");
        let mut values = vec![];
        let mut each = |frame: &[f32]| {
            values.extend_from_slice(frame);
            Ok::<(), crate::Error>(())
        };
        for from in (0..events.len()).step_by(size) {
            let mut block = EventBuffer::default();
            for at in from..events.len().min(from + size) {
                block.push(events.t[at], events.x[at], events.y[at], events.p[at] != 0);
            }
            stream
                .push(&block, &mut each)
                .expect("events of the sensor");
        }
        stream.finish(&mut each).expect("no error");
        values
    }

    #[test]
    fn a_stream_has_the_frames_of_the_recording_in_blocks_of_any_size() -> Result<()> {
        for (text, sensor) in [
            ("duration=700", Sensor::new(9, 7)),
            ("duration=100000000", Sensor::new(9, 7)),
            (
                "event-counts=125 include_incomplete=true",
                Sensor::new(9, 7),
            ),
            ("event-counts=77 include_incomplete=true", Sensor::new(9, 7)),
            ("sound steps=170 step=7000 group=5", Sensor::new(20, 1)),
            (
                "sound steps=170 step=7000 group=1 binary=true",
                Sensor::new(20, 1),
            ),
        ] {
            let events = recording(sensor);
            let rule = rule(text);
            let expected = rule.tensor(&events, sensor)?.values;
            for size in [1, 7, 125, 4000] {
                let found = streamed(&*rule, sensor, &events, size);
                let rest = &expected[found.len().min(expected.len())..];
                assert_eq!(found[..], expected[..found.len()], "{rule}, {size}");
                // Frames of sound go on behind the last event.
                assert!(rest.iter().all(|&value| value == 0.0), "{rule}");
            }
        }
        Ok(())
    }

    #[test]
    fn rules_that_need_the_end_and_times_that_jump_are_errors() -> Result<()> {
        let sensor = Sensor::new(4, 4);
        for text in [
            "number=16",
            "time=4",
            "voxel-grid",
            "event-counts=5 overlap=2",
        ] {
            assert!(FrameStream::new(&*rule(text), sensor).is_err());
        }
        let mut stream = FrameStream::new(&*rule("duration=1"), sensor)?;
        let mut push = |t| {
            let mut events = EventBuffer::default();
            events.push(t, 0, 0, true);
            stream.push(&events, |_| Ok::<(), crate::Error>(()))
        };
        push(5)?;
        let jump = push(i64::MAX).expect_err("it jumps");
        assert!(matches!(*jump.kind, ErrorKind::TooLarge { .. }), "{jump}");
        let back = push(4).expect_err("it goes back");
        assert!(matches!(*back.kind, ErrorKind::Unsorted { .. }), "{back}");
        Ok(())
    }
}
