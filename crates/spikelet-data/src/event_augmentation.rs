//! Augmentations of events, which change recordings before and after frames are made of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spikelet_events::frames::Nda;
use spikelet_events::transforms::EventTransform;

use crate::error::Error;

/// The name of neuromorphic data augmentation.
const NDA: &str = "nda";

/// An augmentation of event data with a name, as listed in [`Augment::events`](crate::Augment::events).
///
/// Those of [`EventTransform`] change the events, [`Nda`] the frames.
///
/// ```
/// use spikelet_data::EventAugmentation;
///
/// let flip: EventAugmentation = "flip-x=0.5".parse()?;
/// assert_eq!(flip.to_string(), "flip-x p=0.5");
/// assert!("flip-x=often".parse::<EventAugmentation>().is_err());
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum EventAugmentation {
    /// A change of the events.
    Events(EventTransform),
    /// Roll, rotation or shear of the frames.
    Nda(Nda),
}

impl EventAugmentation {
    /// The names of all augmentations.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        EventTransform::NAMES.iter().copied().chain([NDA])
    }
}

impl FromStr for EventAugmentation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let name = text.split(['=', ' ']).next().unwrap_or_default();
        Ok(match name {
            NDA => Self::Nda(text.parse()?),
            _ => Self::Events(text.parse()?),
        })
    }
}

impl fmt::Display for EventAugmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(transform) => transform.fmt(f),
            Self::Nda(nda) => nda.fmt(f),
        }
    }
}

impl TryFrom<String> for EventAugmentation {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<EventAugmentation> for String {
    fn from(augmentation: EventAugmentation) -> Self {
        augmentation.to_string()
    }
}
