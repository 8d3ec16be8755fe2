//! Events without a neighbor are dropped.

use super::EventTransform;
use super::edit::{pixels, retain};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// Drops events for which none of the four neighboring pixels had an event in the last `filter_time` microseconds.
///
/// As in tonic, every pixel starts as if it had an event at time 0: events with t < `filter_time` that have a neighbor are kept.
/// The columns and rows beyond the largest coordinates are no neighbors.
///
/// Source: tonic 1.7.0, `Denoise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Denoise {
    /// The microseconds for which an event supports its neighbors.
    #[schema(main, default = 10_000)]
    pub filter_time: u64,
}

impl EventTransform for Denoise {
    fn change(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let filter_time = i64::try_from(self.filter_time).unwrap_or(i64::MAX);
        let size = |values: &[u16]| {
            values
                .iter()
                .max()
                .map_or(0, |&largest| usize::from(largest) + 1)
        };
        let (width, height) = (size(&events.x), size(&events.y));
        let mut until = vec![filter_time; pixels(Self::DECLARATION.name, width, height)?];
        retain(events, |event| {
            let at = event.y * width + event.x;
            until[at] = event.t.saturating_add(filter_time);
            (event.x > 0 && until[at - 1] > event.t)
                || (event.x + 1 < width && until[at + 1] > event.t)
                || (event.y > 0 && until[at - width] > event.t)
                || (event.y + 1 < height && until[at + width] > event.t)
        });
        Ok(())
    }
}
