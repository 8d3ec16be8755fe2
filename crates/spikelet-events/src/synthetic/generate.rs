//! The interface of generated data sets.

use std::fmt::Debug;
use std::ops::Range;

use spikelet_schema::Record;

use crate::settings::check_settings;
use crate::{EventBuffer, EventRandom, Result, Sensor, Split};

/// The first index of the test samples.
const TEST: u32 = 1 << 31;

/// The most samples of a split.
pub(super) const MAX_SAMPLES: u32 = 1 << 30;

/// A set of generated recordings. A set is one file with its declaration, and a line in
/// [`SYNTHETIC_SETS`](super::SYNTHETIC_SETS).
///
/// ```
/// use spikelet_events::synthetic::SyntheticSet;
/// use spikelet_schema::Member;
///
/// let set: Member<dyn SyntheticSet> = "synthetic-spoken-digits channels=140".parse()?;
/// assert_eq!((set.name(), set.sensor().width), ("synthetic-spoken-digits", 140));
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub trait SyntheticSet: Record + Debug + Send + Sync {
    /// The name in texts.
    fn title(&self) -> &'static str;

    /// The names of the classes by label.
    fn classes(&self) -> &'static [&'static str];

    /// The size of the sensor. A cochlea has its channels as width, and the height 1.
    fn sensor(&self) -> Sensor;

    /// The numbers of samples for training and for tests.
    fn samples(&self) -> [u32; 2];

    /// The speaker of a sample for training, or for tests; its number is from 0 for each split.
    fn speaker_of(&self, number: u32, is_test: bool) -> Option<u32> {
        let _ = (number, is_test);
        None
    }

    /// The events of a recording, sorted by time. The settings were checked.
    fn generate(&self, recording: Recording) -> EventBuffer;

    /// The name, as on the command line.
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The indices of the samples of a split: [`Split::Train`] or [`Split::Test`]; others have none.
    ///
    /// ```
    /// use spikelet_events::Split;
    /// use spikelet_events::synthetic::{SpokenDigits, SyntheticSet};
    ///
    /// assert_eq!(SpokenDigits::default().indices(Split::Train).len(), 2000);
    /// ```
    fn indices(&self, split: Split) -> Range<u32> {
        let [train, test] = self.samples().map(|samples| samples.min(MAX_SAMPLES));
        match split {
            Split::Train => 0..train,
            Split::Test => TEST..TEST + test,
            Split::Valid | Split::All => 0..0,
        }
    }

    /// The class of a sample: one class after the other.
    fn label(&self, index: u32) -> u32 {
        (index % TEST) % self.classes().len() as u32
    }

    /// The speaker of a sample of spiking audio: the samples of all classes are of one speaker, then those of the next one.
    fn speaker(&self, index: u32) -> Option<u32> {
        let number = (index % TEST) / self.classes().len() as u32;
        self.speaker_of(number, index >= TEST)
    }

    /// Generates the events of a sample, sorted by time. Every index has events, also beyond those of
    /// [`indices`](Self::indices).
    ///
    /// # Errors
    /// [`Setting`](crate::ErrorKind::Setting) for a setting out of range.
    fn events(&self, seed: u64, index: u32) -> Result<EventBuffer> {
        check_settings(self)?;
        Ok(self.generate(Recording {
            seed,
            label: self.label(index),
            speaker: self.speaker(index),
            random: EventRandom::of_synthetic(seed, 0, index),
        }))
    }
}

/// The recording to generate.
#[derive(Debug)]
pub struct Recording {
    /// The seed of the set.
    pub seed: u64,
    /// The class.
    pub label: u32,
    /// The speaker, of spiking audio.
    pub speaker: Option<u32>,
    /// Its random numbers.
    pub random: EventRandom,
}
