//! One polarity.

use super::EventTransform;
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// All polarities become 0.
///
/// Source: tonic 1.7.0, `MergePolarities`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct MergePolarities;

impl EventTransform for MergePolarities {
    fn change(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        events.p.fill(0);
        Ok(())
    }
}
