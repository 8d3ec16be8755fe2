//! What each synthetic set defines.

use crate::settings::{Settings, check};
use crate::{EventBuffer, EventRandom, Result, Sensor, Split};

/// The first index of the test samples.
const TEST: u32 = 1 << 31;

/// The most samples of a split.
const MAX_SAMPLES: u32 = 1 << 30;

/// A set of generated recordings.
pub(super) trait Generate: Settings {
    /// The name in texts.
    const TITLE: &'static str;
    /// The names of the classes by label.
    const CLASSES: &'static [&'static str];

    /// The size of the sensor.
    fn sensor(&self) -> Sensor;

    /// The numbers of samples for training and for tests.
    fn samples(&self) -> [u32; 2];

    /// Refuses settings out of range.
    fn check(&self) -> Result<()>;

    /// The speaker of a sample for training, or for tests; its number is from 0 for each split.
    fn speaker(_number: u32, _is_test: bool) -> Option<u32> {
        None
    }

    /// The events of a recording, sorted by time. The settings were checked.
    fn generate(&self, recording: Recording) -> EventBuffer;
}

/// The recording to generate.
#[derive(Debug)]
pub(super) struct Recording {
    pub seed: u64,
    pub label: u32,
    pub speaker: Option<u32>,
    pub random: EventRandom,
}

/// The indices of a split.
pub(super) fn indices(set: &impl Generate, split: Split) -> std::ops::Range<u32> {
    let [train, test] = set.samples().map(|samples| samples.min(MAX_SAMPLES));
    match split {
        Split::Train => 0..train,
        Split::Test => TEST..TEST + test,
        Split::Valid | Split::All => 0..0,
    }
}

/// The label of a sample: one class after the other.
pub(super) fn label<G: Generate>(_: &G, index: u32) -> u32 {
    (index % TEST) % G::CLASSES.len() as u32
}

/// The speaker of a sample: the samples of all classes are of one speaker, then those of the next one.
pub(super) fn speaker<G: Generate>(_: &G, index: u32) -> Option<u32> {
    G::speaker((index % TEST) / G::CLASSES.len() as u32, index >= TEST)
}

/// The events of a sample.
pub(super) fn events<G: Generate>(set: &G, seed: u64, index: u32) -> Result<EventBuffer> {
    for (field, samples) in ["train", "test"].into_iter().zip(set.samples()) {
        let is_valid = samples <= MAX_SAMPLES;
        check(is_valid, G::NAME, field, samples, "at most 1073741824")?;
    }
    set.check()?;
    Ok(set.generate(Recording {
        seed,
        label: label(set, index),
        speaker: speaker(set, index),
        random: EventRandom::of_synthetic(seed, 0, index),
    }))
}
