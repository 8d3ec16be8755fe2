//! Recordings as samples of frames.

use std::fmt;
use std::sync::Arc;

use spikelet_events::EventRandom;
use spikelet_expr::DType;

use super::maker::{Changes, FrameMaker};
use super::recordings::Recordings;
use spikelet_events::transforms::EventTransform;
use spikelet_schema::Member;

use crate::dataset::{Dataset, check_index};
use crate::device_frames::DeviceFrames;
use crate::digest::Parts;
use crate::error::Result;
use crate::field::Field;
use crate::sample::{Sample, SampleTensor};
use crate::sample_random::SampleRandom;
use crate::step_shape::StepShape;

/// The number of time steps of a sequence, where it varies: the name that a loader gives it.
const X_LENGTH: &str = "x_length";

/// Some recordings of a data set; the frames of each are computed where it is read.
#[derive(Clone)]
pub(super) struct EventFrames {
    recordings: Arc<Recordings>,
    indices: Arc<[usize]>,
    maker: Arc<FrameMaker>,
    shape: StepShape,
    /// Set where the device makes the frames.
    device: Option<DeviceFrames>,
}

impl EventFrames {
    /// The recordings of these indices, which have labels.
    ///
    /// # Errors
    /// If a setting of the frames is out of range for the sensor.
    pub fn new(
        recordings: Arc<Recordings>,
        indices: Vec<usize>,
        maker: Arc<FrameMaker>,
        device: Option<DeviceFrames>,
    ) -> Result<Self> {
        Ok(Self {
            shape: maker.step_shape()?,
            indices: indices.into(),
            recordings,
            maker,
            device,
        })
    }

    /// The sequence of a recording.
    fn make(&self, index: usize, changes: Option<Changes<'_>>) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let index = self.indices[index];
        let events = self.recordings.read(index)?;
        let sample = match &self.device {
            Some(frames) => {
                let (words, steps) = self.maker.packed(frames, events, changes)?;
                let sample = Sample::new().with("events", SampleTensor::i64(&[words.len()], words));
                match self.maker.varies() {
                    true => sample.with(X_LENGTH, SampleTensor::i64(&[], vec![steps as i64])),
                    false => sample,
                }
            }
            None => {
                let frames = self.maker.frames(events, changes)?;
                let shape = [&frames.shape[..1], self.shape.sizes()].concat();
                Sample::new().with("x", SampleTensor::f32(&shape, frames.values))
            }
        };
        let label = self.recordings.samples[index].label.unwrap_or(0);
        Ok(sample.with("labels", SampleTensor::i64(&[], vec![i64::from(label)])))
    }
}

impl Dataset for EventFrames {
    fn name(&self) -> &str {
        &self.recordings.name
    }

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn fields(&self) -> Vec<Field> {
        let labels = Field::new("labels", DType::I64, []);
        if let Some(frames) = &self.device {
            let events = Field {
                device_frames: Some(*frames),
                ..Field::new("events", DType::I64, [frames.events]).pad(-1.0)
            };
            let length = Field::new(X_LENGTH, DType::I64, []);
            let length = self.maker.varies().then_some(length);
            return [events].into_iter().chain(length).chain([labels]).collect();
        }
        let shape = [&[self.maker.steps], self.shape.sizes()].concat();
        let x = Field::new("x", DType::F32, shape).sequence();
        let x = if self.maker.varies() { x.pad(0.0) } else { x };
        vec![x, labels]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        self.make(index, None)
    }

    fn augmented(
        &self,
        index: usize,
        augment: &[Member<dyn EventTransform>],
        random: &SampleRandom,
    ) -> Result<Sample<'_>> {
        let random: &EventRandom = &random.of_events();
        self.make(index, Some(Changes { augment, random }))
    }

    fn has_events(&self) -> bool {
        true
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let digest = Parts::of("event frames").part(&self.recordings.digest()?);
        let digest = digest.values(&self.indices, |index| (index as u64).to_le_bytes());
        Ok(digest.part(format!("{:?}", self.maker).as_bytes()).finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        match field {
            "labels" => &self.recordings.classes,
            _ => &[],
        }
    }
}

impl fmt::Debug for EventFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventFrames")
            .field("name", &self.recordings.name)
            .field("len", &self.indices.len())
            .field("maker", &self.maker)
            .finish_non_exhaustive()
    }
}
