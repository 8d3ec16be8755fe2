//! The frames of the recordings of a data set.

use spikelet_events::frames::{DeviceSlicing, FrameRule, Resize};
use spikelet_events::transforms::{EventTransform, apply_all};
use spikelet_events::{EventBuffer, EventRandom, Frames, Sensor};
use spikelet_schema::Member;

use super::settings::FrameSettings;
use crate::device_frames::{DeviceFrames, MAX_SIDE};
use crate::error::{Error, Result};
use crate::step_shape::StepShape;

/// A change of frames, and its random numbers.
type Moved<'c> = (&'c dyn EventTransform, EventRandom);

/// The frames of a data set: settings without defaults.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrameMaker {
    rule: Member<dyn FrameRule>,
    resize: Option<Resize>,
    events: Vec<Member<dyn EventTransform>>,
    sensor: Sensor,
    /// The number of time steps of a sequence: that of the rule, or else shorter sequences are filled up with zeros, and
    /// longer ones end there.
    pub steps: usize,
}

/// The changes of one sample in one epoch.
#[derive(Clone, Copy)]
pub(super) struct Changes<'a> {
    pub augment: &'a [Member<dyn EventTransform>],
    pub random: &'a EventRandom,
}

impl FrameSettings {
    /// The frames of a recording of one's own as those of a data set with these settings: `[T, …]`, with at most `steps` time
    /// steps. `rule` is that of the settings, or else that of the data set.
    ///
    /// # Errors
    /// If a setting is out of range for the sensor, or an event is outside of it.
    pub fn frames_of(
        &self,
        rule: &Member<dyn FrameRule>,
        events: EventBuffer,
        sensor: Sensor,
        steps: usize,
    ) -> Result<Frames> {
        let maker = FrameMaker::new(self, rule.clone(), sensor, steps);
        Ok(maker.frames(events, None)?)
    }
}

impl FrameMaker {
    /// Frames of recordings of this sensor; `steps` is for rules that give as many as a recording is long.
    pub fn new(
        settings: &FrameSettings,
        rule: Member<dyn FrameRule>,
        sensor: Sensor,
        steps: usize,
    ) -> Self {
        let resize = settings.size.map(|[height, width]| Resize {
            width,
            height,
            ..Resize::default()
        });
        Self {
            steps: rule.steps().unwrap_or(steps),
            rule,
            resize,
            events: settings.events.clone(),
            sensor,
        }
    }

    /// Whether sequences may be shorter than [`Self::steps`].
    pub fn varies(&self) -> bool {
        self.rule.steps().is_none()
    }

    /// The shape of a time step.
    ///
    /// # Errors
    /// If a setting is out of range for the sensor.
    pub fn step_shape(&self) -> Result<StepShape> {
        let (mut events, mut sensor) = (EventBuffer::default(), self.sensor);
        apply_all(
            &self.events,
            &mut events,
            &mut sensor,
            &EventRandom::new(0, 0, 0),
        )?;
        let [_, channels, height, width] = self.rule.shape(&events, sensor)?;
        Ok(match self.resize {
            Some(resize) => StepShape::Frame([channels, resize.height, resize.width]),
            None if channels == 1 && height == 1 => StepShape::Features(width),
            None => StepShape::Frame([channels, height, width]),
        })
    }

    /// The events of a recording and the sensor after all changes, and the changes of frames that are left.
    fn changed<'c>(
        &self,
        events: &mut EventBuffer,
        changes: Option<Changes<'c>>,
    ) -> spikelet_events::Result<(Sensor, Vec<Moved<'c>>)> {
        let mut sensor = self.sensor;
        let none = EventRandom::new(0, 0, 0);
        apply_all(&self.events, events, &mut sensor, &none)?;
        let mut moved = vec![];
        if let Some(Changes { augment, random }) = changes {
            for (position, transform) in augment.iter().enumerate() {
                let mut random = random.of_transform(position);
                match transform.is_of_frames() {
                    true => moved.push((&**transform, random)),
                    false => transform.apply(events, &mut sensor, &mut random)?,
                }
            }
        }
        Ok((sensor, moved))
    }

    /// The frames of a recording: `[T, …]`, with at most [`Self::steps`] frames.
    pub fn frames(
        &self,
        mut events: EventBuffer,
        changes: Option<Changes<'_>>,
    ) -> spikelet_events::Result<Frames> {
        let (sensor, moved) = self.changed(&mut events, changes)?;
        let mut frames = self.rule.tensor(&events, sensor)?;
        if let Some(resize) = &self.resize {
            frames = resize.apply(&frames)?;
        }
        for (transform, mut random) in moved {
            transform.change_frames(&mut frames, &mut random)?;
        }
        let elements = frames.shape[1..].iter().product::<usize>();
        if frames.shape[0] > self.steps {
            frames.shape[0] = self.steps;
            frames.values.truncate(self.steps * elements);
        }
        Ok(frames)
    }

    /// The rule by which a device makes the frames of samples of up to `events` events.
    ///
    /// # Errors
    /// [`Error::DeviceFrames`] for rules of other kinds, and frames larger than the sensor.
    pub fn device_frames(&self, events: usize) -> Result<DeviceFrames> {
        let refused = |problem: String| Error::DeviceFrames { problem };
        let slicing = self.rule.on_device();
        let slicing = slicing.ok_or_else(|| refused(format!("the frames are `{}`", self.rule)))?;
        let (mut none, mut sensor) = (EventBuffer::default(), self.sensor);
        apply_all(
            &self.events,
            &mut none,
            &mut sensor,
            &EventRandom::new(0, 0, 0),
        )?;
        let sensor = [sensor.height as usize, sensor.width as usize];
        let size = self
            .resize
            .map_or(sensor, |resize| [resize.height, resize.width]);
        if size[0] > sensor[0] || size[1] > sensor[1] || sensor.iter().any(|&side| side > MAX_SIDE)
        {
            let ([height, width], [rows, columns]) = (size, sensor);
            return Err(refused(format!(
                "frames of height {height}, width {width} for a sensor of width {columns}, height {rows}"
            )));
        }
        Ok(DeviceFrames {
            slicing,
            steps: self.steps,
            sensor,
            size,
            events,
        })
    }

    /// The events of a recording in the words that a device reads, and the number of its frames.
    ///
    /// # Errors
    /// If times decrease where frames depend on them; if there are more events than `frames` has places, or the changes are
    /// of frames or of the size of the sensor.
    pub fn packed(
        &self,
        frames: &DeviceFrames,
        mut events: EventBuffer,
        changes: Option<Changes<'_>>,
    ) -> Result<(Vec<i64>, usize)> {
        let refused = |problem: String| Error::DeviceFrames { problem };
        let (sensor, moved) = self.changed(&mut events, changes)?;
        if !moved.is_empty() || [sensor.height as usize, sensor.width as usize] != frames.sensor {
            return Err(refused(
                "the augmentation changes frames, or the size of the sensor".into(),
            ));
        }
        if events.len() > frames.events {
            let most = frames.events;
            return Err(refused(format!(
                "a sample has {} events, the largest had {most}",
                events.len()
            )));
        }
        // Checks the order of times, where it matters.
        let [steps, ..] = self.rule.shape(&events, sensor)?;
        let first = events.t.first().copied().unwrap_or(0);
        let pack = |at: usize| {
            let t = match frames.slicing {
                DeviceSlicing::Number => 0,
                _ => u32::try_from(events.t[at].wrapping_sub(first))
                    .map_err(|_| refused("a sample is longer than 71 minutes".into()))?,
            };
            Ok(frames.word(t, events.x[at], events.y[at], events.p[at]))
        };
        let words: Result<_> = (0..events.len()).map(pack).collect();
        Ok((words?, steps.min(self.steps)))
    }
}
