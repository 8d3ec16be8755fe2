//! A random part of the events is dropped.

use super::EventTransform;
use super::edit::{drop_box, pixels, retain};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;
use spikelet_schema::document::Node;

/// Drops a random part of the events.
///
/// | `of` | dropped are | tonic |
/// |---|---|---|
/// | `events` | ⌊`p` · N + ½⌋ of N events; every choice is equally likely | `DropEvent` |
/// | `pixels` | the events of each pixel with probability `p` | `RandomDropPixel` |
/// | `time` | the events of an interval that is the part `p` of the duration, at a uniform start | `DropEventByTime` |
/// | `area` | the events of a box of ⌊W · `p`⌋ × ⌊H · `p`⌋ pixels at a uniform position inside of the sensor | `DropEventByArea` |
///
/// The duration is from the earliest event to the latest; tonic counts from time 0.
///
/// Source: tonic 1.7.0; D. Knuth, The Art of Computer Programming, 3.4.2, algorithm S.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(earlier = with_ratio)]
pub struct DropEvents {
    /// The part of the events, of the pixels, of the duration or of each side.
    #[schema(main, default = 0.1, from = 0, to = 1)]
    pub p: f64,
    /// The things of which a part is dropped.
    #[schema(default = DropOf::Events)]
    pub of: DropOf,
}

/// The things of which [`DropEvents`] drops a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum DropOf {
    /// Single events.
    Events,
    /// Pixels.
    Pixels,
    /// The duration: an interval.
    Time,
    /// The sensor: a box.
    Area,
}

/// The part of an interval and of a box was called `ratio`.
fn with_ratio(table: &Node) -> Option<Node> {
    let ratio = table.get("ratio")?;
    Some(table.without("ratio").with("p", ratio.clone()))
}

impl EventTransform for DropEvents {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        match self.of {
            DropOf::Events => drop_single(self.p, events, random),
            DropOf::Pixels => drop_pixels(self.p, events, *sensor, random)?,
            DropOf::Time => drop_interval(self.p, events, random),
            DropOf::Area => {
                let length = |size: u32| (f64::from(size) * self.p) as usize;
                drop_box(events, *sensor, length, random);
            }
        }
        Ok(())
    }
}

fn drop_single(p: f64, events: &mut EventBuffer, random: &mut EventRandom) {
    let mut dropped = (p * events.len() as f64 + 0.5) as u64;
    let mut remaining = events.len() as u64;
    // Selection sampling: each event is dropped with the part of those to drop in those that remain.
    retain(events, |_| {
        let drops = random.below(remaining) < dropped;
        remaining -= 1;
        dropped -= u64::from(drops);
        !drops
    });
}

fn drop_pixels(
    p: f64,
    events: &mut EventBuffer,
    sensor: Sensor,
    random: &mut EventRandom,
) -> Result<()> {
    let (width, height) = (sensor.width as usize, sensor.height as usize);
    let mut dropped = vec![false; pixels(DropEvents::DECLARATION.name, width, height)?];
    dropped.fill_with(|| random.chance(p));
    retain(events, |event| !dropped[event.y * width + event.x]);
    Ok(())
}

fn drop_interval(p: f64, events: &mut EventBuffer, random: &mut EventRandom) {
    let first = events.t.iter().min().copied().unwrap_or(0) as f64;
    let last = events.t.iter().max().copied().unwrap_or(0) as f64;
    let length = (last - first) * p;
    let start = random.between(first, last - length);
    if p > 0.0 {
        let interval = start..=start + length;
        retain(events, |event| !interval.contains(&(event.t as f64)));
    }
}
