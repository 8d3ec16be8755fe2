//! The table `data`.

use super::table::{AUTO, Key, NONE, Table, keyed, number_in, refused, unless, value_or};
use super::{Experiment, Normalization};
use crate::{DatasetId, Settings};
use serde_json::{Value, json};
use spikelet_core::document::{Fields, Located, Node};
use spikelet_data::{Augment, Entry, FrameSettings, Normalize, SequenceSource, entries};
use spikelet_schema::Member;

/// The data set of an experiment, and how its samples are used. Augmentation, split and validation are in
/// [`Settings`](crate::Settings).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DataSettings {
    /// The name of the data set, one of [`entries`]; `None` for the first that fits the network.
    pub dataset: Option<String>,
    /// The number of training samples: the first ones; all by default.
    pub train_images: Option<usize>,
    /// The number of test samples: the first ones; all by default.
    pub test_images: Option<usize>,
    /// The normalization of pixels.
    pub normalize: Normalization,
    /// The number of threads that load and augment batches; chosen by default.
    pub loader_threads: Option<usize>,
}

impl DataSettings {
    /// The data set, if it is named.
    pub fn entry(&self) -> Option<Entry> {
        let mut entries = entries().into_iter();
        entries.find(|entry| Some(entry.name) == self.dataset.as_deref())
    }

    /// Takes the data set of a run, and as many of its samples.
    pub(super) fn use_samples_of(&mut self, run: &DatasetId) {
        let known = entries()
            .into_iter()
            .find(|entry| entry.title() == run.name);
        self.dataset = known.map(|entry| entry.name.to_string());
        if known.is_some_and(|entry| !entry.is_images()) {
            // Their validation samples are not always a part of the training samples.
            return;
        }
        let train = run.train_samples.saturating_add(run.validation_samples);
        self.train_images = Some(train).filter(|images| *images > 0);
        self.test_images = Some(run.test_samples).filter(|images| *images > 0);
    }
}

impl Experiment {
    /// Uses the data set of this name, one of [`entries`]; the first that fits the network for `None`. With another data
    /// set than before, split and frames are the default ones, and sequences get their number of time steps:
    /// [`Settings::use_sequences`](crate::Settings::use_sequences). ImageNet brings its usual normalization and augmentation
    /// ([`LazyImages::augment`](spikelet_data::LazyImages::augment)), where there is none.
    pub fn use_dataset(&mut self, name: Option<String>) {
        if name == self.data.dataset {
            return;
        }
        self.data.dataset = name;
        self.settings.split = None;
        self.settings.frames = FrameSettings::default();
        let entry = self.data.entry();
        if let Some(source) = entry.and_then(|entry| entry.sequences()) {
            self.settings.use_sequences(source.steps);
        }
        let images = entry.and_then(|entry| entry.lazy_images());
        if let Some(images) = images
            && self.settings.augment.is_empty()
        {
            self.settings.augment = images.augment();
        }
        if images.is_some_and(|images| images.is_normalized())
            && self.settings.encoder == "direct"
            && self.data.normalize == Normalization::None
        {
            self.data.normalize = Normalization::Auto;
        }
    }

    /// Sets the frames of recordings of events, and the number of time steps that they have.
    ///
    /// # Errors
    /// [`Error::Events`](spikelet_data::Error::Events) if a setting is out of range for the sensor of the data set.
    pub fn use_frames(&mut self, frames: FrameSettings) -> spikelet_data::Result<()> {
        let steps = self.settings.time_steps;
        if let Some(entry) = self.data.entry()
            && let Some(source) = entry.sequences_of(&frames, steps)?
        {
            self.settings.time_steps = source.steps;
        }
        self.settings.frames = frames;
        Ok(())
    }

    /// The source of the sequences of the data set, if it is one of sequences.
    ///
    /// # Errors
    /// As [`Self::use_frames`].
    pub fn sequences(&self) -> spikelet_data::Result<Option<SequenceSource>> {
        let Settings {
            frames, time_steps, ..
        } = &self.settings;
        match self.data.entry() {
            Some(entry) => entry.sequences_of(frames, *time_steps),
            None => Ok(None),
        }
    }
}

pub(super) const TABLE: Table = Table {
    name: "data",
    summary: "The data set, and how its samples are used.",
    keys: &[
        Key {
            name: "dataset",
            doc: "data set; \"auto\": the first that fits the network",
            schema: || json!({"enum": names()}),
        },
        Key {
            name: "split",
            doc: "split of a data set of sequences, such as \"held-out-theo\"; \"auto\": its default",
            schema: || json!({"type": "string"}),
        },
        Key {
            name: "frames",
            doc: "frames of recordings of events, such as \"number=16\"; \"auto\": those of the data set",
            schema: || json!({"type": ["string", "object"]}),
        },
        Key {
            name: "frame_size",
            doc: "height and width to which frames are resized, such as [48, 48]; \"auto\": those of the sensor",
            schema: size_schema,
        },
        Key {
            name: "frames_on",
            doc: "\"host\": the threads of the loader make the frames; \"device\": the device of the run does",
            schema: || json!({"enum": FRAMES_ON}),
        },
        Key {
            name: "events",
            doc: "changes of the events of all samples, before the frames, such as [\"denoise=10000\"]",
            schema: || json!({"type": "array", "items": {"type": ["string", "object"]}}),
        },
        Key {
            name: "sensor",
            doc: "width and height of the sensor, such as [34, 34]; \"auto\": those of the data set or in the files",
            schema: size_schema,
        },
        Key {
            name: "train_images",
            doc: "number of training samples, the first ones, or \"all\"",
            schema: count_or_all,
        },
        Key {
            name: "test_images",
            doc: "number of test samples, the first ones, or \"all\"",
            schema: count_or_all,
        },
        Key {
            name: "validation",
            doc: "fraction of the training samples that selects the best epoch",
            schema: || json!({"type": "number", "minimum": 0, "exclusiveMaximum": 1}),
        },
        Key {
            name: "normalize",
            doc: "\"none\", \"auto\" (statistics of the training images; of ImageNet, for images in folders), or { mean = [0.5], std = [0.2] }",
            schema: normalize_schema,
        },
        Key {
            name: "augment",
            doc: "random changes of training samples, such as [\"crop=4\", \"flip\"]",
            schema: || json!({"type": "array", "items": {"type": ["string", "object"]}}),
        },
        Key {
            name: "mixup",
            doc: "α of the shares in which pairs of images are mixed, or \"none\"",
            schema: alpha_schema,
        },
        Key {
            name: "cutmix",
            doc: "α of the areas that are pasted from other images, or \"none\"",
            schema: alpha_schema,
        },
        Key {
            name: "mix_probability",
            doc: "probability that a batch is mixed",
            schema: || json!({"type": "number", "minimum": 0, "maximum": 1}),
        },
        Key {
            name: "mix_epochs",
            doc: "number of the first epochs in which batches are mixed, or \"all\"",
            schema: count_or_all,
        },
        Key {
            name: "loader_threads",
            doc: "threads that load and augment batches, or \"auto\"",
            schema: || json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_THREADS}, {"const": AUTO}]}),
        },
    ],
    constants: Vec::new,
    read,
    write,
};

/// The largest number of loader threads.
const MAX_THREADS: usize = 1024;

/// Where frames are made: on the host or on the device.
const FRAMES_ON: [&str; 2] = ["host", "device"];

/// The largest side of a sensor or of a frame.
const MAX_SIDE: usize = 1 << 16;

/// The string for all images.
const ALL: &str = "all";

/// The names of the data sets.
fn names() -> Vec<&'static str> {
    let known = entries().into_iter().map(|entry| entry.name);
    known.chain([AUTO]).collect()
}

fn count_or_all() -> Value {
    json!({"anyOf": [{"type": "integer", "minimum": 1}, {"const": ALL}]})
}

fn size_schema() -> Value {
    let side = json!({"type": "integer", "minimum": 1, "maximum": MAX_SIDE});
    let sides = json!({"type": "array", "items": side, "minItems": 2, "maxItems": 2});
    json!({"anyOf": [sides, {"const": AUTO}]})
}

fn alpha_schema() -> Value {
    json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": NONE}]})
}

fn normalize_schema() -> Value {
    let numbers = json!({"type": "array", "items": {"type": "number"}, "minItems": 1});
    let given = json!({
        "type": "object", "properties": {"mean": numbers, "std": numbers},
        "required": ["mean", "std"], "additionalProperties": false,
    });
    json!({"anyOf": [{"enum": [NONE, AUTO]}, given]})
}

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let fields = Fields::new(node, TABLE.title(), &TABLE.key_names())?;
    if let Some(node) = fields.get("dataset") {
        let name = node.choice("dataset", &names())?;
        let name = (name != AUTO).then(|| name.to_string());
        experiment.use_dataset(name);
    }
    read_frames(experiment, &fields)?;
    if let Some(node) = fields.get("split") {
        experiment.settings.split = unless(AUTO, node, |node| split(node, experiment))?;
    }
    let Experiment { data, settings, .. } = experiment;
    if let Some(images) = images(&fields, "train_images")? {
        data.train_images = images;
    }
    if let Some(images) = images(&fields, "test_images")? {
        data.test_images = images;
    }
    if let Some(node) = fields.get("validation") {
        settings.validation = number_in(
            node,
            "validation",
            "a number from 0 to below 1, such as 0.1",
            |share| (0.0..1.0).contains(&share),
        )?;
    }
    if let Some(node) = fields.get("normalize") {
        data.normalize = normalization(node)?;
    }
    if let Some(node) = fields.get("augment") {
        settings.augment = Augment::read_list("augment", node)?;
    }
    for (key, alpha) in [
        ("mixup", &mut settings.mixup),
        ("cutmix", &mut settings.cutmix),
    ] {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let expected = "a number above 0, such as 0.2, or \"none\"";
        let fits = |alpha: f64| alpha as f32 > 0.0 && (alpha as f32).is_finite();
        let read = |node: &Node| number_in(node, key, expected, fits);
        *alpha = unless(NONE, node, read)?.map(|alpha| alpha as f32);
    }
    if let Some(node) = fields.get("mix_probability") {
        let fits = |p: f64| (0.0..=1.0).contains(&p);
        let p = number_in(node, "mix_probability", "a number from 0 to 1", fits)?;
        settings.mix_probability = p as f32;
    }
    if let Some(epochs) = images(&fields, "mix_epochs")? {
        settings.mix_epochs = epochs;
    }
    if let Some(node) = fields.get("loader_threads") {
        let key = "loader_threads";
        data.loader_threads = unless(AUTO, node, |node| node.integer(key, 1..=MAX_THREADS))?;
    }
    Ok(())
}

/// The frames of recordings of events.
fn read_frames(experiment: &mut Experiment, fields: &Fields<'_>) -> Result<(), Located> {
    let mut frames = experiment.settings.frames.clone();
    let mut last = None;
    let mut given = |key| {
        let node = fields.get(key)?;
        last = Some((key, node));
        Some(node)
    };
    if let Some(node) = given("frames") {
        frames.rule = unless(AUTO, node, |node| Member::read_item("frames", node))?;
    }
    if let Some(node) = given("frame_size") {
        frames.size = unless(AUTO, node, |node| sides(node, "frame_size"))?;
    }
    if let Some(node) = given("events") {
        let read = |node: &Node| Member::read_item("events", node);
        frames.events = node
            .list("events")?
            .iter()
            .map(read)
            .collect::<Result<_, _>>()?;
    }
    if let Some(node) = given("sensor") {
        let sensor = unless(AUTO, node, |node| sides(node, "sensor"))?;
        frames.sensor = sensor.map(|sides| sides.map(|side| side as u32));
    }
    if let Some(node) = given("frames_on") {
        frames.on_device = node.choice("frames_on", &FRAMES_ON)? == FRAMES_ON[1];
    }
    let Some((key, node)) = last else {
        return Ok(());
    };
    let has_events = experiment
        .data
        .entry()
        .is_some_and(|entry| entry.has_events());
    if !has_events && !frames.is_default() {
        let expected = "a data set of recordings of events as `dataset`, to which it applies";
        return Err(node.wrong(key, expected));
    }
    experiment
        .use_frames(frames)
        .map_err(|error| refused(&error, node))
}

/// Two sides of a frame or a sensor.
fn sides(node: &Node, key: &str) -> Result<[usize; 2], Located> {
    let sides = node
        .list(key)?
        .iter()
        .map(|side| side.integer(key, 1..=MAX_SIDE));
    let sides: Vec<usize> = sides.collect::<Result<_, _>>()?;
    let expected = "a list of two integers, such as [48, 48]";
    sides.try_into().map_err(|_| node.wrong(key, expected))
}

/// A split of the data set.
fn split(node: &Node, experiment: &Experiment) -> Result<String, Located> {
    let name = node.text("split")?;
    let source = experiment
        .sequences()
        .map_err(|error| refused(&error, node))?;
    let Some(source) = source else {
        return Err(node.wrong("split", "\"auto\": only data sets of sequences have splits"));
    };
    match source.splits.iter().any(|known| known == name) {
        true => Ok(name.to_string()),
        false => Err(node.wrong("split", format!("one of {}", source.split_names()))),
    }
}

/// A number of images, if it is given; `None` in it are all.
fn images(fields: &Fields<'_>, key: &str) -> Result<Option<Option<usize>>, Located> {
    let Some(node) = fields.get(key) else {
        return Ok(None);
    };
    let read = |node: &Node| {
        let read = node.integer(key, 1..=usize::MAX);
        read.map_err(|_| node.wrong(key, "an integer of at least 1, or \"all\""))
    };
    unless(ALL, node, read).map(Some)
}

fn normalization(node: &Node) -> Result<Normalization, Located> {
    let expected = "\"none\", \"auto\", or { mean = [0.5], std = [0.2] }";
    match node.as_text() {
        Some(NONE) => return Ok(Normalization::None),
        Some(AUTO) => return Ok(Normalization::Auto),
        Some(_) => return Err(node.wrong("normalize", expected)),
        None => {}
    }
    let Some(_) = node.entries() else {
        return Err(node.wrong("normalize", expected));
    };
    let fields = Fields::new(node, "`normalize`", &["mean", "std"])?;
    let values = |key: &str| -> Result<Vec<f32>, Located> {
        let node = fields.require(key, "a list with one number, or one per channel")?;
        let each = node.list(key)?.iter();
        each.map(|item| Ok(item.number(key)? as f32)).collect()
    };
    let normalize = Normalize {
        mean: values("mean")?,
        std: values("std")?,
    };
    let channels = normalize.mean.len().max(normalize.std.len());
    let checked = normalize.check(channels);
    checked.map_err(|problem| refused(&problem, node))?;
    Ok(Normalization::Given(normalize))
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let Experiment { data, settings, .. } = experiment;
    let normalize = match &data.normalize {
        Normalization::None => json!(NONE),
        Normalization::Auto => json!(AUTO),
        Normalization::Given(given) => json!({"mean": given.mean, "std": given.std}),
    };
    let has_events = data.entry().is_some_and(|entry| entry.has_events());
    let head = [
        ("dataset", value_or(AUTO, data.dataset.as_deref())),
        ("split", value_or(AUTO, settings.split.as_deref())),
    ];
    let frames = &settings.frames;
    let rule = frames.rule.as_ref().map(Member::to_file);
    let events = frames.events.iter().map(Member::to_file);
    let frames = [
        ("frames", value_or(AUTO, rule)),
        (
            "frame_size",
            value_or(AUTO, frames.size.map(|sides| json!(sides))),
        ),
        (
            "frames_on",
            Value::from(FRAMES_ON[usize::from(frames.on_device)]),
        ),
        ("events", Value::from(events.collect::<Vec<_>>())),
        (
            "sensor",
            value_or(AUTO, frames.sensor.map(|sides| json!(sides))),
        ),
    ];
    let frames = frames.into_iter().filter(|_| has_events);
    let tail = [
        ("train_images", value_or(ALL, data.train_images)),
        ("test_images", value_or(ALL, data.test_images)),
        ("validation", Value::from(settings.validation)),
        ("normalize", normalize),
        ("augment", Value::from(settings.augment.to_list())),
        ("mixup", value_or(NONE, settings.mixup.map(shortest))),
        ("cutmix", value_or(NONE, settings.cutmix.map(shortest))),
        (
            "mix_probability",
            Value::from(shortest(settings.mix_probability)),
        ),
        ("mix_epochs", value_or(ALL, settings.mix_epochs)),
        ("loader_threads", value_or(AUTO, data.loader_threads)),
    ];
    keyed(head.into_iter().chain(frames).chain(tail))
}

/// The number with the fewest digits that is this one in 32 bits.
fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
