//! Random events are dropped.

use super::edit::retain;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings, check_share};
use crate::{EventBuffer, Result, Sensor};

/// Drops ⌊`p` · N + ½⌋ of N events; every choice is equally likely.
///
/// Source: tonic 1.7.0, `DropEvent`; D. Knuth, The Art of Computer Programming, 3.4.2, algorithm S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropEvents {
    /// The part of the events, 0 to 1.
    pub p: f64,
}

impl Default for DropEvents {
    fn default() -> Self {
        Self { p: 0.1 }
    }
}

impl Settings for DropEvents {
    const NAME: &'static str = "drop-events";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("p", &mut self.p)]
    }
}

impl Apply for DropEvents {
    fn apply(
        &self,
        events: &mut EventBuffer,
        _: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_share(Self::NAME, "p", self.p, "a part from 0 to 1")?;
        let mut dropped = (self.p * events.len() as f64 + 0.5) as u64;
        let mut remaining = events.len() as u64;
        // Selection sampling: each event is dropped with the part of those to drop in those that remain.
        retain(events, |_| {
            let drops = random.below(remaining) < dropped;
            remaining -= 1;
            dropped -= u64::from(drops);
            !drops
        });
        Ok(())
    }
}
