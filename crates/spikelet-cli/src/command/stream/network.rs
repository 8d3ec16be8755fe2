//! A network that runs step by step.

use super::Counts;
use crate::args::DataName;
use crate::command::data::SENSOR_HELP;
use crate::command::trained::Trained;
use crate::failure::Failure;
use serde_json::json;
use spikelet::data::StepShape;
use spikelet::log::Console;
use spikelet::schema::Member;
use spikelet::terminal::escaped;
use spikelet::train::metric::recognized;
use spikelet::train::step::SampleBatch;
use spikelet::train::{EvalStep, SampleShape, Step};
use spikelet_events::frames::{FrameRule, Resize};
use spikelet_events::{Frames, Sensor};
use std::collections::VecDeque;
use std::time::Instant;

/// A trained network, its frames, and its scores over the last time steps.
pub struct StreamedNetwork {
    step: EvalStep,
    pub rule: Member<dyn FrameRule>,
    resize: Option<Resize>,
    /// The sensor of the training.
    pub sensor: Option<Sensor>,
    shape: StepShape,
    classes: Vec<String>,
    /// The scores of the last time steps.
    window: VecDeque<Vec<f64>>,
    steps: usize,
    class: Option<usize>,
}

impl StreamedNetwork {
    /// A network in a checkpoint, with these frames or those of its training. `learns`: its plastic layers learn.
    ///
    /// # Errors
    /// When it does not take sequences, its events are changed in training, or a program cannot be made.
    pub fn new(
        trained: &mut Trained,
        rule: Option<Member<dyn FrameRule>>,
        learns: bool,
    ) -> Result<Self, Failure> {
        let settings = trained.checkpoint.settings()?.clone();
        let sample = trained.sample();
        let SampleShape::Sequence {
            steps,
            shape,
            step_labels,
            ..
        } = sample
        else {
            return Err(Failure::other(
                "the network takes images, not sequences",
                "give the checkpoint of a network that was trained on event data",
            ));
        };
        let entry = trained.dataset().map(DataName::dataset);
        let recordings = entry.and_then(|entry| entry.events());
        let default = recordings.map(|own| own.frames().map_err(spikelet::Error::from));
        let default = default.transpose()?;
        let Some(rule) = rule.or(settings.frames.rule.clone()).or(default) else {
            return Err(Failure::argument(
                "the network was not trained on event data",
                "give the frames of the stream: --frames duration=50000",
            ));
        };
        if !settings.frames.events.is_empty() {
            return Err(Failure::other(
                "the network was trained on changed events (the key `events`), which streams do not have",
                "train it without, or with augmentation only",
            ));
        }
        let resize = settings.frames.size.map(|[height, width]| Resize {
            width,
            height,
            ..Resize::default()
        });
        let own = settings
            .frames
            .sensor
            .map(|[width, height]| Sensor::new(width, height));
        let sensor = match own {
            Some(_) => own,
            None => recordings.and_then(|recordings| recordings.sensor()),
        };
        let module = trained.network.module()?;
        let batch = SampleBatch {
            batch: 1,
            sample: SampleShape::Sequence {
                steps,
                shape,
                step_labels,
                varies: false,
                device_frames: None,
            },
        };
        let step = Step::classifier_eval(&*module, &settings, batch)?;
        let step = match learns {
            true => step.compile_learning_stream(&mut trained.store)?,
            false => step.compile_stream(&mut trained.store)?,
        };
        let classes = trained.classes();
        Ok(Self {
            step,
            rule,
            resize,
            sensor,
            shape,
            classes,
            window: VecDeque::new(),
            steps,
            class: None,
        })
    }

    /// The name of the class with the highest score, or its number.
    pub fn class(&self) -> Option<String> {
        self.class.map(|class| self.name(class))
    }

    fn name(&self, class: usize) -> String {
        let name = self.classes.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    }

    /// Runs a time step.
    ///
    /// # Errors
    /// When the frame does not fit the network, or the device fails.
    pub fn step(
        &mut self,
        frame: &[f32],
        counts: &mut Counts,
        console: &Console,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let resized;
        let frame = match &self.resize {
            None => frame,
            Some(resize) => {
                resized = self.resized(resize, frame)?;
                &resized[..]
            }
        };
        let expected: usize = self.shape.sizes().iter().product();
        if frame.len() != expected {
            return Err(Failure::argument(
                format!(
                    "a frame has {} elements, the network takes {}",
                    frame.len(),
                    self.shape
                ),
                "stream events of the sensor of the training, or train with `data.frame_size`, to which the frames of \
                 streams are resized; `spikelet predict --resize` takes recordings of other sensors",
            ));
        }
        self.step.predict([("x", frame)])?;
        let scores = self.step.output("scores")?.to_f64();
        counts.latencies.add(start.elapsed());
        counts.steps += 1;
        if self.window.len() == self.steps {
            self.window.pop_front();
        }
        self.window.push_back(scores);
        let mean = self.mean();
        let class = recognized(&mean);
        console.say_json(&json!({
            "event": "step", "step": counts.steps, "class": class.map(|class| self.name(class)),
            "scores": mean,
        }));
        if class != self.class {
            self.class = class;
            counts.changes += 1;
            let found = match class {
                Some(class) => format!("{} ({:.3})", escaped(&self.name(class)), mean[class]),
                None => "no spikes: no class".to_string(),
            };
            console.say(format!("step {:>8}  {found}", counts.steps));
        }
        Ok(())
    }

    fn resized(&self, resize: &Resize, frame: &[f32]) -> Result<Vec<f32>, Failure> {
        let sensor = self
            .sensor
            .ok_or_else(|| Failure::argument("the size of the sensor is not known", SENSOR_HELP))?;
        let pixels = sensor.width as usize * sensor.height as usize;
        let frames = Frames {
            shape: vec![
                frame.len() / pixels.max(1),
                sensor.height as usize,
                sensor.width as usize,
            ],
            values: frame.to_vec(),
        };
        let resized = resize.apply(&frames)?;
        Ok(resized.values)
    }

    /// The mean of the scores in the window.
    fn mean(&self) -> Vec<f64> {
        let classes = self.window.front().map_or(0, Vec::len);
        let sum = |class: usize| self.window.iter().map(|scores| scores[class]).sum::<f64>();
        (0..classes)
            .map(|class| sum(class) / self.window.len() as f64)
            .collect()
    }
}
