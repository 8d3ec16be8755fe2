//! Learning, assignment of classes, test; and the state from which it continues.

use super::labels::{CLASSES, Responses, prediction};
use super::network::{Network, Size};
use super::options::Options;
use spikelet::data::{Dataset, Split, image_shape};
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::path::Path;
use std::sync::Arc;

/// An image whose presentation gives fewer spikes is shown again with a higher intensity.
const LEAST_SPIKES: u32 = 5;
const START_INTENSITY: f64 = 2.0;
/// The last intensity, of images that are black.
const MOST_INTENSITY: f64 = 32.0;

/// Images that are shown at once when weights and thresholds are fixed. They do not depend on each other.
const FIXED_BATCH: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Weights and thresholds change; labels are not read.
    Learn,
    /// The classes of neurons, from training images.
    Label,
    Test,
    Done,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Learn, Self::Label, Self::Test, Self::Done];

    fn next(self) -> Self {
        Self::ALL[(self as usize + 1).min(3)]
    }

    pub fn name(self) -> &'static str {
        ["learn", "label", "test", "done"][self as usize]
    }
}

/// An image in one of the places of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shown {
    image: usize,
    intensity: f64,
}

/// What is known at a point of the run. All fields but the seconds are exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub phase: Phase,
    /// The images of this phase that are complete, the presentations that they took, their spikes.
    pub images: usize,
    pub presentations: u64,
    pub spikes: u64,
    /// The presentations of all phases, which number the random draws.
    number: u64,
    /// The next image that gets a place.
    next: usize,
    places: Vec<Option<Shown>>,
    pub responses: Responses,
    pub correct: usize,
    /// Test images for which no neuron with a class fired.
    pub silent: usize,
    /// The time of this phase.
    pub seconds: f64,
}

/// The pixels of an image, and its class.
fn image(set: &dyn Dataset, index: usize) -> Result<(Vec<u8>, usize)> {
    let sample = set.sample(index)?;
    let pixels = sample.require("images")?.as_u8().unwrap_or_default();
    let labels = sample.require("labels")?.as_i64().unwrap_or_default();
    Ok((pixels.to_vec(), labels[0] as usize))
}

/// A run of the program.
pub struct Experiment {
    options: Options,
    digits: Split,
    pub network: Network,
    pub progress: Progress,
}

impl Experiment {
    pub fn new(options: &Options, digits: Split, device: Arc<dyn Backend>) -> Result<Self> {
        for (name, set) in [("training", &digits.train), ("test", &digits.test)] {
            if set.len() == 0 {
                return Err(Error::invalid(
                    "--data",
                    format!("there are no {name} images"),
                    "give a folder with MNIST's four files",
                ));
            }
            let is_stray = |label: &i64| !(0..CLASSES as i64).contains(label);
            if let Some(label) = set.labels()?.into_iter().find(is_stray) {
                return Err(Error::invalid(
                    "--data",
                    format!("a label of the {name} images is {label}"),
                    "give images of 10 classes",
                ));
            }
        }
        let mut options = options.clone();
        options.images = options.images.min(digits.train.len());
        let labeled = options.label_images.unwrap_or(options.images);
        options.label_images = Some(labeled.min(digits.train.len()));
        options.test_images = options.test_images.min(digits.test.len());
        let size = Size {
            pixels: image_shape(&*digits.train)?.iter().product(),
            neurons: options.neurons,
        };
        let fixed = FIXED_BATCH.min(options.test_images.max(labeled));
        let network = Network::new(size, [options.batch_size, fixed], options.seed, device)?;
        let progress = Progress {
            phase: Phase::Learn,
            images: 0,
            presentations: 0,
            spikes: 0,
            number: 0,
            next: 0,
            places: vec![None; options.batch_size],
            responses: Responses::new(options.neurons),
            correct: 0,
            silent: 0,
            seconds: 0.0,
        };
        Ok(Self {
            options,
            digits,
            network,
            progress,
        })
    }

    /// The images of the current phase, and how often one is shown altogether.
    fn images(&self) -> (&Arc<dyn Dataset>, usize, usize) {
        let Options { images, passes, .. } = self.options;
        match self.progress.phase {
            Phase::Learn => (&self.digits.train, images, images * passes),
            Phase::Label => {
                let count = self.options.label_images.unwrap_or(images);
                (&self.digits.train, count, count)
            }
            Phase::Test | Phase::Done => {
                let count = self.options.test_images;
                (&self.digits.test, count, count)
            }
        }
    }

    /// The number of images of the current phase.
    pub fn total(&self) -> usize {
        self.images().2
    }

    /// Shows one batch. Returns whether a phase is complete.
    pub fn step(&mut self) -> Result<bool> {
        let (set, distinct, total) = self.images();
        let set = set.clone();
        let learns = self.progress.phase == Phase::Learn;
        let progress = &mut self.progress;
        for place in progress.places.iter_mut().filter(|p| p.is_none()) {
            if progress.next < total {
                *place = Some(Shown {
                    image: progress.next % distinct,
                    intensity: START_INTENSITY,
                });
                progress.next += 1;
            }
        }
        let images = (progress.places.iter())
            .map(|place| place.map(|shown| image(&*set, shown.image)).transpose())
            .collect::<Result<Vec<_>>>()?;
        let shown: Vec<_> = (progress.places.iter().zip(&images))
            .map(|(place, image)| Some((&image.as_ref()?.0[..], place.as_ref()?.intensity)))
            .collect();
        let counts = self.network.present(learns, progress.number, &shown)?;
        progress.number += 1;
        let classes = match progress.phase {
            Phase::Test => progress.responses.classes(),
            _ => vec![],
        };
        for (k, counts) in counts.iter().enumerate() {
            let (Some(shown), &Some((_, label))) = (&mut progress.places[k], &images[k]) else {
                continue;
            };
            progress.presentations += 1;
            let spikes: u32 = counts.iter().sum();
            if spikes < LEAST_SPIKES && shown.intensity < MOST_INTENSITY {
                shown.intensity += 1.0;
                continue;
            }
            match progress.phase {
                Phase::Label => progress.responses.add(label, counts),
                Phase::Test => {
                    let predicted = prediction(&classes, counts);
                    progress.correct += usize::from(predicted == Some(label));
                    progress.silent += usize::from(predicted.is_none());
                }
                Phase::Learn | Phase::Done => {}
            }
            progress.images += 1;
            progress.spikes += u64::from(spikes);
            progress.places[k] = None;
        }
        Ok(progress.images >= total)
    }

    /// Begins the next phase.
    pub fn next_phase(&mut self) {
        let progress = &mut self.progress;
        progress.phase = progress.phase.next();
        progress.places = vec![None; self.network.batch(false)];
        (progress.images, progress.presentations, progress.spikes) = (0, 0, 0);
        (progress.next, progress.seconds) = (0, 0.0);
    }

    /// The options and the data of the run.
    fn identity(&self) -> Result<String> {
        let digest = self.digits.digest()?;
        let data: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
        Ok(format!("{}, data {data}", self.options.identity()))
    }

    /// Writes the state.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut file = TensorFile::default();
        for (name, tensor) in self.network.tensors()? {
            file.tensors.insert(format!("network.{name}"), tensor);
        }
        let p = &self.progress;
        let mut list = |name: &str, values: Vec<f64>| {
            let tensor = Tensor::f64([values.len()], values);
            file.tensors.insert(name.to_string(), tensor);
        };
        let counts = [
            p.phase as u64,
            p.images as u64,
            p.presentations,
            p.spikes,
            p.number,
            p.next as u64,
            p.correct as u64,
            p.silent as u64,
        ];
        let mut progress: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        progress.push(p.seconds);
        list("progress", progress);
        // An empty place has intensity 0.
        let places = (p.places.iter())
            .flat_map(|place| place.map_or([0.0; 2], |s| [s.image as f64, s.intensity]));
        list("places", places.collect());
        let spikes = p.responses.spikes.iter().flatten();
        let responses = spikes.chain(&p.responses.images).map(|count| *count as f64);
        list("responses", responses.collect());
        file.metadata.insert("run".to_string(), self.identity()?);
        file.write(path)
    }

    /// Continues from a state.
    pub fn load(&mut self, path: &Path) -> Result<()> {
        let file = TensorFile::read(path)?;
        let wrong = |problem: String| Error::TensorFile {
            path: path.to_path_buf(),
            problem,
            help: "use the options and the data of its run, or another --checkpoint".to_string(),
        };
        let (found, expected) = (file.metadata.get("run"), self.identity()?);
        if found != Some(&expected) {
            let found = found.map_or("an unknown run", String::as_str);
            return Err(wrong(format!("it is of {found}; this run is {expected}")));
        }
        for (name, _) in self.network.tensors()? {
            let tensor = file.get(&format!("network.{name}"))?;
            self.network.set(&name, tensor)?;
        }
        let list = |name: &str| Ok::<_, Error>(file.get(name)?.to_f64());
        let progress = list("progress")?;
        let (&[.., seconds], &[phase, ..]) = (&progress[..], &progress[..]) else {
            return Err(wrong("its progress is empty".to_string()));
        };
        let counts: Vec<u64> = progress.iter().map(|x| *x as u64).collect();
        let phase = Phase::ALL.get(phase as usize).copied();
        let (
            Some(phase),
            &[
                _,
                images,
                presentations,
                spikes,
                number,
                next,
                correct,
                silent,
                _,
            ],
        ) = (phase, &counts[..])
        else {
            return Err(wrong("its progress is of another version".to_string()));
        };
        let places = list("places")?;
        let place = |pair: &[f64]| {
            let (image, intensity) = (pair[0] as usize, pair[1]);
            (intensity > 0.0).then_some(Shown { image, intensity })
        };
        let responses: Vec<u64> = list("responses")?.iter().map(|x| *x as u64).collect();
        let (rows, _) = responses.as_chunks::<CLASSES>();
        let Some((images_of, spikes_of)) = rows.split_last() else {
            return Err(wrong("its responses are empty".to_string()));
        };
        self.progress = Progress {
            phase,
            images: images as usize,
            presentations,
            spikes,
            number,
            next: next as usize,
            places: places.chunks_exact(2).map(place).collect(),
            responses: Responses {
                spikes: spikes_of.to_vec(),
                images: *images_of,
            },
            correct: correct as usize,
            silent: silent as usize,
            seconds,
        };
        Ok(())
    }
}
