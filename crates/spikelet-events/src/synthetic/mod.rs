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
//! use spikelet_schema::Member;
//!
//! let set: Member<dyn SyntheticSet> = "synthetic-gestures size=34 train=240 test=60".parse()?;
//! for index in set.indices(Split::Test).take(2) {
//!     let events = set.events(0, index)?;
//!     println!("{}: {} events", set.classes()[set.label(index) as usize], events.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
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

pub use generate::{Recording, SyntheticSet};
pub use gestures::Gestures;
pub use moving_digits::MovingDigits;
pub use spoken_digits::SpokenDigits;

spikelet_schema::registry! {
    /// All generated data sets.
    pub static SYNTHETIC_SETS: dyn SyntheticSet = "synthetic data set" { Gestures, MovingDigits, SpokenDigits }
}
