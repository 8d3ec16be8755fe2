//! Frames of any kind by their name.

use std::fmt;
use std::str::FromStr;

use super::{CountFrames, NamedRepresentation, Representation, Slicing};
use crate::settings::split_name;
use crate::{Error, ErrorKind, EventBuffer, Result, Sensor};

/// How a recording becomes frames: counts of a [`Slicing`], or a [`NamedRepresentation`].
///
/// ```
/// use spikelet_events::frames::FrameRule;
///
/// let rule: FrameRule = "number=16".parse()?;
/// assert_eq!((rule.to_string().as_str(), rule.steps()), ("number frames=16", Some(16)));
/// assert!("numbers=16".parse::<FrameRule>().is_err());
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FrameRule {
    /// The counts of the slices, with a channel for each polarity.
    Counts(Slicing),
    /// Another representation.
    Other(NamedRepresentation),
}

impl FrameRule {
    /// The names of all rules.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        [Slicing::NAMES, NamedRepresentation::NAMES].concat()
    }

    /// The number of frames, if it is the same for all recordings.
    #[must_use]
    pub fn steps(&self) -> Option<usize> {
        match self {
            Self::Counts(slicing) => slicing.len(),
            Self::Other(other) => other.as_ref().steps(),
        }
    }

    /// The representation.
    fn representation(&self) -> Box<dyn Representation + '_> {
        match self {
            Self::Counts(slicing) => Box::new(CountFrames::new(slicing.clone())),
            Self::Other(other) => Box::new(other.as_ref()),
        }
    }
}

impl Representation for FrameRule {
    fn name(&self) -> &'static str {
        self.representation().name()
    }

    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]> {
        self.representation().shape(events, sensor)
    }

    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()> {
        self.representation().fill(events, sensor, out)
    }

    fn steps(&self) -> Option<usize> {
        Self::steps(self)
    }
}

impl From<Slicing> for FrameRule {
    fn from(slicing: Slicing) -> Self {
        Self::Counts(slicing)
    }
}

impl From<NamedRepresentation> for FrameRule {
    fn from(other: NamedRepresentation) -> Self {
        Self::Other(other)
    }
}

impl FromStr for FrameRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, _) = split_name(text);
        if Slicing::NAMES.contains(&name) {
            return text.parse().map(Self::Counts);
        }
        if NamedRepresentation::NAMES.contains(&name) {
            return text.parse().map(Self::Other);
        }
        Err(ErrorKind::UnknownName {
            kind: "frames",
            given: name.into(),
            known: Self::names().join(", "),
        }
        .into())
    }
}

impl fmt::Display for FrameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts(slicing) => slicing.fmt(f),
            Self::Other(other) => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_rule_whose_text_is_read_again() -> Result<()> {
        for name in FrameRule::names() {
            let rule: FrameRule = name.parse()?;
            assert_eq!(rule.to_string().parse::<FrameRule>()?, rule);
        }
        Ok(())
    }
}
