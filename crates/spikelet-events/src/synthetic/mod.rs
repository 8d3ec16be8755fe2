//! Recordings that are generated, for tests and first experiments without a download.
//!
//! | set | text | |
//! |---|---|---|
//! | [`Gestures`] | `synthetic-gestures`, `synthetic-gestures size=34` | an event camera sees moving hands |
//! | [`MovingDigits`] | `synthetic-moving-digits` | an event camera moves before digits, as N-MNIST |
//! | [`SpokenDigits`] | `synthetic-spoken-digits` | a cochlea hears words, as SHD |
//!
//! The classes of gestures and of spoken digits differ in time only: a network that gets the events of a recording summed
//! over time cannot tell a class from its reversal.
//!
//! A recording depends on nothing but settings, seed and index: the same events on every machine. Labels follow from the
//! index, one class after the other.
//!
//! ```
//! use spikelet_events::Split;
//! use spikelet_events::synthetic::SyntheticSet;
//!
//! let set: SyntheticSet = "synthetic-gestures size=34 train=240 test=60".parse()?;
//! for index in set.indices(Split::Test).take(2) {
//!     let events = set.events(0, index)?;
//!     println!("{}: {} events", set.classes()[set.label(index) as usize], events.len());
//! }
//! # Ok::<(), spikelet_events::Error>(())
//! ```

mod angle;
mod camera;
mod drawing;
mod generate;
mod gestures;
mod hand;
mod moving_digits;
mod noise;
mod path;
mod spikes;
mod spoken_digits;

use std::ops::Range;

use crate::settings::{Settings, registry};
use crate::{EventBuffer, Result, Sensor, Split};
use generate::Generate;

pub use gestures::Gestures;
pub use moving_digits::MovingDigits;
pub use spoken_digits::SpokenDigits;

registry! {
    /// A synthetic data set with a name: `synthetic-gestures size=34`.
    ///
    /// ```
    /// use spikelet_events::synthetic::SyntheticSet;
    ///
    /// let set: SyntheticSet = "synthetic-spoken-digits channels=140".parse()?;
    /// assert_eq!((set.name(), set.sensor().width), ("synthetic-spoken-digits", 140));
    /// # Ok::<(), spikelet_events::Error>(())
    /// ```
    SyntheticSet, "synthetic" {
        Gestures(Gestures),
        MovingDigits(MovingDigits),
        SpokenDigits(SpokenDigits),
    }
}

/// Calls a function with the settings of any set.
macro_rules! of {
    ($set:expr, $own:ident => $value:expr) => {
        match $set {
            Self::Gestures($own) => $value,
            Self::MovingDigits($own) => $value,
            Self::SpokenDigits($own) => $value,
        }
    };
}

impl SyntheticSet {
    /// The name, as on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        fn name<S: Settings>(_: &S) -> &'static str {
            S::NAME
        }
        of!(self, set => name(set))
    }

    /// The name in texts.
    #[must_use]
    pub fn title(&self) -> &'static str {
        fn title<G: Generate>(_: &G) -> &'static str {
            G::TITLE
        }
        of!(self, set => title(set))
    }

    /// The names of the classes by label.
    #[must_use]
    pub fn classes(&self) -> &'static [&'static str] {
        fn classes<G: Generate>(_: &G) -> &'static [&'static str] {
            G::CLASSES
        }
        of!(self, set => classes(set))
    }

    /// The size of the sensor. A cochlea has its channels as width, and the height 1.
    #[must_use]
    pub fn sensor(&self) -> Sensor {
        of!(self, set => set.sensor())
    }

    /// The indices of the samples of a split: [`Split::Train`] or [`Split::Test`]; others have none.
    ///
    /// ```
    /// use spikelet_events::Split;
    /// use spikelet_events::synthetic::{SpokenDigits, SyntheticSet};
    ///
    /// let set = SyntheticSet::from(SpokenDigits::default());
    /// assert_eq!(set.indices(Split::Train).len(), 2000);
    /// ```
    #[must_use]
    pub fn indices(&self, split: Split) -> Range<u32> {
        of!(self, set => generate::indices(set, split))
    }

    /// The class of a sample: one class after the other.
    #[must_use]
    pub fn label(&self, index: u32) -> u32 {
        of!(self, set => generate::label(set, index))
    }

    /// The speaker of a sample of spiking audio.
    #[must_use]
    pub fn speaker(&self, index: u32) -> Option<u32> {
        of!(self, set => generate::speaker(set, index))
    }

    /// Generates the events of a sample, sorted by time. Every index has events, also beyond those of
    /// [`indices`](Self::indices).
    ///
    /// # Errors
    /// [`Setting`](crate::ErrorKind::Setting) for a setting out of range.
    pub fn events(&self, seed: u64, index: u32) -> Result<EventBuffer> {
        of!(self, set => generate::events(set, seed, index))
    }
}
