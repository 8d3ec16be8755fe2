//! Recordings of events and sequences in arrays, as a network was trained on them.

use super::convert::Input;
use crate::args::DataName;
use crate::command::data::SENSOR_HELP;
use crate::command::trained::Trained;
use crate::failure::Failure;
use spikelet::data::{ArrayFiles, Dataset, FrameSettings, NamedDataset, StepShape, Unlabeled};
use spikelet::human::thousands;
use spikelet::problem_and_help;
use spikelet::schema::Member;
use spikelet::train::SampleShape;
use spikelet_events::frames::FrameRule;
use spikelet_events::transforms::Downsample;
use spikelet_events::{EventBuffer, Options, Sensor};
use std::path::Path;

/// Reads files as the sequences of a network.
pub struct SequenceReader {
    frames: FrameSettings,
    /// The frames, if the network was trained on recordings of events.
    rule: Option<Member<dyn FrameRule>>,
    /// The sensor of the files, if it is given.
    given: Option<Sensor>,
    /// The sensor of the training.
    sensor: Option<Sensor>,
    /// The shape of a time step.
    pub shape: StepShape,
    /// The time steps; the most, if the lengths vary.
    pub steps: usize,
    pub varies: bool,
    /// Set if the network classifies each time step.
    pub step_labels: Option<Unlabeled>,
    /// Whether events of other sensors are reduced or enlarged to that of the training.
    resize: bool,
    /// The data set, if it has a name and files with one sample each.
    samples: Option<&'static dyn NamedDataset>,
}

/// The ending of the name of a file.
fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(|ending| ending.to_str())
}

impl SequenceReader {
    /// For a network that takes sequences.
    ///
    /// # Errors
    /// When its frames cannot be read.
    pub fn new(
        trained: &Trained,
        given: Option<Sensor>,
        resize: bool,
    ) -> Result<Option<Self>, Failure> {
        let SampleShape::Sequence {
            steps,
            shape,
            step_labels,
            varies,
            ..
        } = trained.sample()
        else {
            return Ok(None);
        };
        let frames = trained.checkpoint.settings()?.frames.clone();
        let named = trained.dataset().map(DataName::dataset);
        let recordings = named.and_then(|named| named.events());
        let own = recordings.map(|own| own.frames().map_err(spikelet::Error::from));
        let rule = frames.rule.clone().or(own.transpose()?);
        let sensor = frames
            .sensor
            .map(|[width, height]| Sensor::new(width, height));
        Ok(Some(Self {
            rule,
            given,
            sensor: sensor.or(recordings.and_then(|recordings| recordings.sensor())),
            frames,
            shape,
            steps,
            varies,
            step_labels,
            resize,
            samples: named.filter(|named| !named.sample_endings().is_empty()),
        }))
    }

    /// Whether a file of a folder is read: by the ending of its name.
    pub fn takes(&self, path: &Path) -> bool {
        let ending = ending(path);
        ending == Some("safetensors")
            || spikelet_events::Format::detect(&[], ending).is_ok()
            || self.samples_in(path).is_some()
    }

    /// The data set of which the file is a sample.
    fn samples_in(&self, path: &Path) -> Option<&'static dyn NamedDataset> {
        let ending = ending(path)?.to_ascii_lowercase();
        self.samples
            .filter(|named| named.sample_endings().contains(&&ending[..]))
    }

    /// The files that it reads, in words.
    pub fn files(&self) -> String {
        let events = match self.rule {
            Some(_) => "files of events, ",
            None => "",
        };
        let own = self.samples.map(|named| {
            let endings: Vec<String> = named
                .sample_endings()
                .iter()
                .map(|own| format!(".{own}"))
                .collect();
            format!(" or {}", endings.join(" or "))
        });
        format!(
            "{events}.npy or .safetensors{} files",
            own.unwrap_or_default()
        )
    }

    /// The sequence of a file.
    ///
    /// # Errors
    /// When it cannot be read, or does not fit the network.
    pub fn read(&self, path: &Path) -> Result<Input, Failure> {
        if let Some(named) = self.samples_in(path) {
            let sample = named.read_sample(path).map_err(spikelet::Error::from)?;
            let x = sample.require("x").map_err(spikelet::Error::from)?;
            let values = x.as_u8().unwrap_or_default().iter();
            let values = values.map(|&value| f32::from(value)).collect();
            let conversions = vec![format!("as the samples of {}", named.title())];
            self.expect_shape(path, &x.shape)?;
            return Ok(self.input(path, x.shape.clone(), values, conversions));
        }
        let array = match path.extension().is_some_and(|end| end == "safetensors") {
            true => Some(ArrayFiles::safetensors(path, &["x"]).map_err(spikelet::Error::from)?),
            // A structured array has events.
            false => ArrayFiles::npy("the array", [("x", path)]).ok(),
        };
        match (array, &self.rule) {
            (Some(array), _) => self.of_array(path, &array),
            (None, Some(rule)) => self.of_events(path, rule),
            (None, None) => Err(Failure::other(
                format!(
                    "{}: no array, and the network was not trained on recordings of events",
                    path.display()
                ),
                format!(
                    "name {}; an array, `x` of a .safetensors file, has the shape [T, {}]",
                    self.files(),
                    self.sizes(", ")
                ),
            )),
        }
    }

    fn sizes(&self, between: &str) -> String {
        let sizes: Vec<String> = self.shape.sizes().iter().map(usize::to_string).collect();
        sizes.join(between)
    }

    fn of_array(&self, path: &Path, array: &ArrayFiles) -> Result<Input, Failure> {
        let mut given = vec![array.len()];
        given.extend(array.fields()[0].shape.iter().flatten());
        self.expect_shape(path, &given)?;
        let mut values = vec![];
        for step in 0..array.len() {
            let sample = array.sample(step).map_err(spikelet::Error::from)?;
            let tensor = sample.require("x").map_err(spikelet::Error::from)?;
            if let Some(bytes) = tensor.as_u8() {
                values.extend(bytes.iter().map(|&value| f32::from(value)));
            } else if let Some(integers) = tensor.as_i64() {
                values.extend(integers.iter().map(|&value| value as f32));
            }
            values.extend(tensor.as_f32().unwrap_or_default());
        }
        Ok(self.input(path, given, values, vec![]))
    }

    /// Checks the shape of a sequence.
    fn expect_shape(&self, path: &Path, given: &[usize]) -> Result<(), Failure> {
        let fits = match self.varies {
            true => given[0] <= self.steps,
            false => given[0] == self.steps,
        };
        if fits && given[1..] == *self.shape.sizes() {
            return Ok(());
        }
        let transposed = StepShape::of(&given[1..]).and_then(|own| own.transposed_help(self.shape));
        let transposed = transposed.map_or(String::new(), |help| format!("; {help}"));
        let most = if self.varies { "at most " } else { "" };
        Err(Failure::other(
            format!("{}: an array of shape {given:?}", path.display()),
            format!(
                "the network takes [T, {}] with {most}{} time steps{transposed}",
                self.sizes(", "),
                self.steps
            ),
        ))
    }

    fn of_events(&self, path: &Path, rule: &Member<dyn FrameRule>) -> Result<Input, Failure> {
        let open = |sensor| {
            let options = Options {
                sensor,
                ..Options::default()
            };
            spikelet_events::open(path, &options)
        };
        let mut reader = open(self.given)?;
        let mut events = EventBuffer::default();
        // The first block decodes the header.
        reader.read_block(&mut events)?;
        let known = self.given.or(reader.sensor());
        let sensor = known.or(self.sensor).ok_or_else(|| {
            Failure::argument(
                format!("{}: the size of the sensor is not known", path.display()),
                SENSOR_HELP,
            )
        })?;
        if known.is_none() {
            reader = open(Some(sensor))?;
            events = EventBuffer::default();
        }
        let mut read = || -> spikelet_events::Result<()> {
            while reader.read_block(&mut events)? {}
            Ok(())
        };
        read().map_err(|error| match known {
            Some(_) => Failure::from(error),
            None => {
                let message = error.to_string();
                let (problem, _) = problem_and_help(&message);
                let help = format!(
                    "the file does not say the size of its sensor, and that of the training was taken, {sensor}: \
                     give --sensor WxH, and --resize if it is another one"
                );
                Failure::other(problem, help)
            }
        })?;
        let mut conversions = vec![];
        let mut settings = self.frames.clone();
        let target = self.sensor.unwrap_or(match self.shape {
            StepShape::Frame([_, height, width]) => Sensor::new(width as u32, height as u32),
            _ => sensor,
        });
        if self.resize && target != sensor {
            conversions.push(format!("resized from a sensor of {sensor} to {target}"));
            let resize = Downsample {
                width: Some(target.width),
                height: Some(target.height),
                ..Downsample::default()
            };
            settings.events.insert(0, resize.into());
        }
        let count = events.len();
        let frames = settings
            .frames_of(rule, events, sensor, self.steps)
            .map_err(spikelet::Error::from)?;
        let given = match frames.shape[..] {
            [_, 1, 1, features] => StepShape::Features(features),
            [_, channels, height, width] => StepShape::Frame([channels, height, width]),
            _ => self.shape,
        };
        if given != self.shape {
            return Err(Failure::other(
                format!(
                    "{}: a sensor of {sensor}, with {given}; the network takes {}",
                    path.display(),
                    self.shape
                ),
                given.transposed_help(self.shape).unwrap_or(
                    "bring the events to the sensor of the training with --resize, or train with `data.frame_size`",
                ),
            ));
        }
        conversions.push(format!(
            "{} events in {} frames by {rule}",
            thousands(count as u64),
            frames.shape[0]
        ));
        Ok(self.input(path, frames.shape, frames.values, conversions))
    }

    fn input(
        &self,
        path: &Path,
        given: Vec<usize>,
        values: Vec<f32>,
        conversions: Vec<String>,
    ) -> Input {
        Input {
            path: path.to_path_buf(),
            index: None,
            steps: Some(given[0]),
            original: self.shape.sizes().to_vec(),
            pixels: vec![],
            sequence: values,
            mean: 0,
            conversions,
        }
    }
}
