//! Data sets by name.

use super::error::{invalid, raise};
use super::json::parse;
use super::samples::{LABELS, PySamples};
use pyo3::prelude::*;
use spikelet::data::{
    Dataset, Entry, FrameSettings, LazySplit, Normalize, Progress, SequenceLabels, SequenceSplit,
    Split, Subset, WantedImages, synthetic,
};
use spikelet::train::FitData;
use spikelet::train::Normalization;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The samples of a data set that was read.
#[derive(Clone)]
pub(super) enum Loaded {
    Images(Split),
    LazyImages(LazySplit),
    Sequences(SequenceSplit),
}

/// The training, validation and test samples of a data set.
#[pyclass(frozen, name = "Split", module = "spikelet._native")]
pub(super) struct PySplit {
    loaded: Loaded,
}

impl PySplit {
    pub fn new(loaded: Loaded) -> Self {
        Self { loaded }
    }

    /// The number of classes; 0 if the data set does not tell.
    pub fn classes(&self) -> usize {
        match &self.loaded {
            Loaded::Images(split) => split.train.classes.len(),
            Loaded::LazyImages(split) => split.classes().len(),
            Loaded::Sequences(split) => split.train.class_names(LABELS).len(),
        }
    }

    /// The normalization of pixels that an experiment asks for.
    pub fn normalization(&self, wanted: &Normalization) -> PyResult<Option<Normalize>> {
        match &self.loaded {
            Loaded::Images(split) => Ok(wanted.of(&split.train)),
            Loaded::LazyImages(split) => Ok(wanted.or(|| split.normalize().clone())),
            Loaded::Sequences(_) if *wanted == Normalization::None => Ok(None),
            Loaded::Sequences(_) => Err(invalid(
                "data.normalize",
                "the data set has sequences, and pixels are normalized",
                "leave it out; a layer of the network can normalize its input",
            )),
        }
    }

    pub fn fit_data(&self) -> FitData {
        match &self.loaded {
            Loaded::Images(split) => split.into(),
            Loaded::LazyImages(split) => split.into(),
            Loaded::Sequences(split) => split.into(),
        }
    }
}

#[pymethods]
impl PySplit {
    /// The samples `train`, `validation` or `test`; None if the data set does not have this part.
    fn part(&self, name: &str) -> PyResult<Option<PySamples>> {
        let (parts, labels, frames): ([Option<Arc<dyn Dataset>>; 3], _, _) = match &self.loaded {
            Loaded::Images(split) => (
                [Some(split.train.clone()), None, Some(split.test.clone())],
                SequenceLabels::Sequence,
                None,
            ),
            Loaded::LazyImages(split) => (
                [
                    Some(split.train().clone()),
                    None,
                    Some(split.test().clone()),
                ],
                SequenceLabels::Sequence,
                None,
            ),
            Loaded::Sequences(split) => (
                [
                    Some(split.train.clone()),
                    split.validation.clone(),
                    Some(split.test.clone()),
                ],
                split.labels,
                split.device_frames,
            ),
        };
        let at = ["train", "validation", "test"]
            .iter()
            .position(|part| *part == name);
        let at = at.ok_or_else(|| {
            invalid(
                "part",
                format!("`{name}` is unknown"),
                "use train, validation or test",
            )
        })?;
        Ok(parts[at].clone().map(|dataset| PySamples {
            dataset,
            labels,
            device_frames: frames,
        }))
    }
}

/// The data set of this name.
pub(super) fn find(name: &str) -> PyResult<Entry> {
    Entry::find(name).map_err(raise)
}

/// What is read of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The split of sequences.
    pub split: Option<String>,
    /// The numbers of samples, the first ones.
    pub train: Option<usize>,
    pub test: Option<usize>,
    /// The seed of generated digits.
    pub seed: u64,
    /// The frames of recordings whose rule has no number.
    pub time_steps: usize,
    pub frames: FrameSettings,
    /// Of images that are read when they are needed: their shape, and the classes of generated ones.
    pub shape: [usize; 3],
    pub classes: usize,
}

/// The data set in a folder, or a generated one.
pub(super) fn read(
    entry: Entry,
    folder: &Path,
    download: bool,
    wanted: &Wanted,
) -> PyResult<Loaded> {
    let Wanted { train, test, .. } = *wanted;
    if let Some(images) = entry.lazy_images() {
        let wanted = WantedImages {
            shape: wanted.shape,
            classes: wanted.classes,
            train,
            test,
        };
        return images
            .load(folder, wanted)
            .map(Loaded::LazyImages)
            .map_err(raise);
    }
    if let Some(source) = entry
        .sequences_of(&wanted.frames, wanted.time_steps)
        .map_err(raise)?
    {
        let mut read = source
            .load(folder, wanted.split.as_deref())
            .map_err(raise)?;
        for (part, kept) in [(&mut read.train, train), (&mut read.test, test)] {
            if let Some(kept) = kept.filter(|kept| *kept < part.len()) {
                *part = Arc::new(Subset::new(part.clone(), (0..kept).collect()).map_err(raise)?);
            }
        }
        return Ok(Loaded::Sequences(read));
    }
    let Some(source) = entry.source() else {
        return Ok(Loaded::Images(synthetic::digits_of(
            wanted.seed,
            train.unwrap_or(60_000).min(60_000),
            test.unwrap_or(10_000).min(10_000),
        )));
    };
    let read = match download {
        true => source.load_or_download(folder, Progress::Quiet),
        false => source.load(folder),
    };
    let mut split = read.map_err(raise)?;
    for (part, kept) in [(&mut split.train, train), (&mut split.test, test)] {
        let kept = kept.unwrap_or(usize::MAX).min(part.len());
        let images = Arc::make_mut(part);
        images.images.truncate(kept * images.image_len());
        images.labels.truncate(kept);
    }
    Ok(Loaded::Images(split))
}

/// Reads a data set from a folder. `options` is a JSON object with `split`, `train` and `test` (numbers of samples), `seed`,
/// `time_steps`, `frames` (settings of frames), `pack`, and `shape` and `classes` for images that are read when they are needed.
#[pyfunction]
#[pyo3(signature = (name, folder, download, options))]
pub(super) fn load_data(
    py: Python<'_>,
    name: &str,
    folder: PathBuf,
    download: bool,
    options: &str,
) -> PyResult<PySplit> {
    let entry = find(name)?;
    let options = parse("options", options)?;
    let number = |key: &str| options[key].as_u64().map(|number| number as usize);
    let given = |key: &str, help: &str| {
        let value = options.get(key);
        value.map(|value| (value.clone(), help.to_string()))
    };
    let mut frames = match given("frames", "give for example frames=\"number=16\"") {
        None => FrameSettings::default(),
        Some((value, help)) => serde_json::from_value(value)
            .map_err(|error| invalid("frames", error.to_string(), help))?,
    };
    frames.unpacked = options["pack"] != true;
    let shape = match given("shape", "give three sizes, such as (3, 224, 224)") {
        None => [3, 224, 224],
        Some((value, help)) => serde_json::from_value(value)
            .map_err(|error| invalid("shape", error.to_string(), help))?,
    };
    let wanted = Wanted {
        split: options["split"].as_str().map(String::from),
        train: number("train"),
        test: number("test"),
        seed: options["seed"].as_u64().unwrap_or(0),
        time_steps: number("time_steps").unwrap_or(100),
        frames,
        shape,
        classes: number("classes").unwrap_or(1000),
    };
    let loaded = py.detach(|| read(entry, &folder, download, &wanted))?;
    Ok(PySplit { loaded })
}
