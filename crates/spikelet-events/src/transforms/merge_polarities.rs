//! One polarity.

use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// All polarities become 0.
///
/// Source: tonic 1.7.0, `MergePolarities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MergePolarities;

impl Settings for MergePolarities {
    const NAME: &'static str = "merge-polarities";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![]
    }
}

impl Apply for MergePolarities {
    fn apply(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        events.p.fill(0);
        Ok(())
    }
}
