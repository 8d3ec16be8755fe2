//! Frames that the device makes of the input `events`.

use spikelet_core::{Error, Result};
use spikelet_data::{DeviceFrames, DeviceSlicing};
use spikelet_graph::Var;
use spikelet_graph::op::{EventFrames, EventSlicing};

/// The events of each sample, i64 `[N, M]`.
pub(super) const EVENTS: &str = "events";
/// Their number, i64 `[N]`.
pub(super) const EVENT_COUNTS: &str = "events_length";

/// The sequences `[T, N, 2, H, W]` of events.
pub(super) fn frames(rule: &DeviceFrames, events: &Var, counts: &Var) -> Result<Var> {
    let slicing = match rule.slicing {
        DeviceSlicing::Number => EventSlicing::Number,
        DeviceSlicing::Time => EventSlicing::Time,
        DeviceSlicing::Duration(duration) => EventSlicing::Duration(duration),
        other => {
            return Err(Error::invalid(
                "frames",
                format!("{other:?} is not implemented on devices"),
                "make the frames on the host",
            ));
        }
    };
    let frames = EventFrames {
        slicing,
        frames: rule.steps,
        sensor: rule.sensor,
        size: rule.size,
    };
    Ok(events.event_frames(counts, frames))
}
