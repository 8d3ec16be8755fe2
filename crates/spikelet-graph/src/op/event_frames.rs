//! Frames of events: counts of pixels, polarities and time steps.

use super::*;

/// How the events of a sample, sorted by time, are cut into frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventSlicing {
    /// Equal numbers of events; the last frame has the rest.
    #[default]
    Number,
    /// Equal durations from the first event; the last frame has the rest.
    Time,
    /// Frames of so many microseconds from the first event; an event at the very end is in the last frame.
    Duration(u64),
}

/// Counts events into frames: the operands are events, i64 `[N, M]`, sorted by time, and the number of events of each
/// sample, i64 `[N]`; the result is f32 `[T, N, 2, H, W]`, with the OFF events in channel 0.
///
/// An event is one word: see [`EventFrames::pack`]. Counts are integers, so that the result does not depend on the order of
/// the additions: all devices give the same. Frames with fewer rows and columns than the sensor have the counts of every
/// nearest pixel, and leave out the others.
///
/// It has no derivative: the gradient of the events is zero.
///
/// Source: W. Fang et al., SpikingJelly, 2023 (`split_by`, `duration`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFrames {
    /// How events are cut into frames.
    pub slicing: EventSlicing,
    /// The number of frames T. Frames of a duration beyond it are left out.
    pub frames: usize,
    /// Height and width of the sensor.
    pub sensor: [usize; 2],
    /// Height and width of the frames, at most those of the sensor.
    pub size: [usize; 2],
}

const BY_NAME: [(&str, EventSlicing); 2] = [
    ("number", EventSlicing::Number),
    ("time", EventSlicing::Time),
];

/// The bits of a coordinate in a packed event.
const COORDINATE_BITS: u32 = 15;

impl EventFrames {
    /// The largest height and width of a sensor.
    pub const MAX_SIDE: usize = 1 << COORDINATE_BITS;

    /// An event in one word: the microseconds since the first event of the sample in the upper half, then polarity, row and
    /// column.
    ///
    /// ```
    /// use spikelet_graph::op::EventFrames;
    /// assert_eq!(EventFrames::unpack(EventFrames::pack(70_000, 3, 7, true)), (70_000, 3, 7, true));
    /// ```
    #[must_use]
    pub fn pack(t: u32, x: u16, y: u16, on: bool) -> i64 {
        let low = u32::from(on) << 30 | u32::from(y) << COORDINATE_BITS | u32::from(x);
        (u64::from(t) << 32 | u64::from(low)) as i64
    }

    /// The time, column, row and polarity of an event in one word.
    #[must_use]
    pub fn unpack(event: i64) -> (u32, u16, u16, bool) {
        let (event, mask) = (event as u64, (1 << COORDINATE_BITS) - 1);
        let (x, y) = (event & mask, event >> COORDINATE_BITS & mask);
        (
            (event >> 32) as u32,
            x as u16,
            y as u16,
            event >> 30 & 1 == 1,
        )
    }
}

impl EventFrames {
    /// The frame of event `k` of `count`, at `t` microseconds from the first; `last` is the time of the last event. `None`
    /// for an event of a frame that is left out.
    #[must_use]
    pub fn frame(&self, k: usize, count: usize, t: u32, last: u32) -> Option<usize> {
        let end = self.frames - 1;
        match self.slicing {
            EventSlicing::Number => Some(match count / self.frames {
                0 => end,
                each => (k / each).min(end),
            }),
            EventSlicing::Time => Some(match last as usize / self.frames {
                0 => end,
                each => (t as usize / each).min(end),
            }),
            EventSlicing::Duration(duration) => {
                let frames = u64::from(last).div_ceil(duration).max(1);
                let frame = (u64::from(t) / duration).min(frames - 1) as usize;
                (frame <= end).then_some(frame)
            }
        }
    }

    /// The row or column of a frame (`axis` 0 or 1) that has the counts of this one of the sensor.
    #[must_use]
    pub fn resized(&self, axis: usize, at: usize) -> Option<usize> {
        let (size, sensor) = (self.size[axis], self.sensor[axis]);
        let to = (at * size).div_ceil(sensor);
        (at < sensor && to < size && to * sensor / size == at).then_some(to)
    }
}

impl Operation for EventFrames {
    fn kind(&self) -> Kind {
        Kind::new("event_frames", Class::Source)
    }

    fn name(&self) -> String {
        let [height, width] = self.size;
        format!(
            "event_frames[{:?}, {} of {height}×{width}]",
            self.slicing, self.frames
        )
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("event_frames[");
        let mut duration = match self.slicing {
            EventSlicing::Duration(duration) => Some(duration),
            _ => None,
        };
        t.optional(&mut duration, "duration ", Text::value);
        match duration {
            Some(duration) => self.slicing = EventSlicing::Duration(duration),
            None => _ = t.one_of(&mut self.slicing, &BY_NAME),
        }
        t.word(", ").value(&mut self.frames).word(" of ");
        t.size(&mut self.size).word(" from ");
        t.size(&mut self.sensor).word("]");
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let [events, lengths] = operands(inputs)?;
        expect_labels(events)?;
        expect_labels(lengths)?;
        let samples = match (&events.shape[..], &lengths.shape[..]) {
            (&[samples, _], &[numbers]) if samples == numbers => samples,
            _ => {
                return invalid!("the events are {events}, their numbers {lengths}";
                    "give events i64 [N, M] and their numbers i64 [N]");
            }
        };
        let fits = |k: usize| {
            let is_sensor = (1..=Self::MAX_SIDE).contains(&self.sensor[k]);
            is_sensor && (1..=self.sensor[k]).contains(&self.size[k])
        };
        if self.frames == 0 || !fits(0) || !fits(1) || self.slicing == EventSlicing::Duration(0) {
            return invalid!("{} frames of {:?} for a sensor of {:?}, {:?}",
                self.frames, self.size, self.sensor, self.slicing;
                "use at least one frame and 1 µs, and frames of at least one pixel that are not larger than the sensor");
        }
        let [height, width] = self.size;
        let shape = vec![self.frames, samples, 2, height, width];
        Ok(vec![TensorType::new(DType::F32, shape)])
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None, None])
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        s.axis(Role::Parallel, inputs[1].len(), [(0, 0), (1, 0)], [(0, 1)]);
        s
    }
}
