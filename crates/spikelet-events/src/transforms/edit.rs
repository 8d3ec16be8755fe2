//! What several transforms do with events.

use crate::{ErrorKind, EventBuffer, EventRandom, Result, Sensor};

/// The most pixels with memory of their own.
const MAX_PIXELS: usize = 1 << 26;

/// An event that may be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub t: i64,
    pub x: usize,
    pub y: usize,
}

/// Keeps some events, in their order.
pub(super) fn retain(events: &mut EventBuffer, mut keep: impl FnMut(Event) -> bool) {
    let mut len = 0;
    for k in 0..events.len() {
        let (t, x, y) = (events.t[k], events.x[k], events.y[k]);
        let event = Event {
            t,
            x: x.into(),
            y: y.into(),
        };
        if keep(event) {
            (events.t[len], events.x[len], events.y[len]) = (t, x, y);
            events.p[len] = events.p[k];
            len += 1;
        }
    }
    events.truncate(len);
}

/// Drops the events of a box at a uniform position inside of the sensor; `length` gives its length along a side, which is
/// at most that of the side.
pub(super) fn drop_box(
    events: &mut EventBuffer,
    sensor: Sensor,
    length: impl Fn(u32) -> usize,
    random: &mut EventRandom,
) {
    let mut side = |size: u32| {
        let length = length(size);
        let start = random.below((size as usize - length) as u64 + 1) as usize;
        start..start + length
    };
    let (columns, rows) = (side(sensor.width), side(sensor.height));
    retain(events, |event| {
        !(columns.contains(&event.x) && rows.contains(&event.y))
    });
}

/// Keeps the events of a part of the sensor. A negative corner is a border before the sensor.
pub(super) fn crop(events: &mut EventBuffer, corner: [i64; 2], size: Sensor) {
    let [left, top] = corner;
    let inside = |value: usize, from: i64, size: u32| {
        let from = from.max(0);
        (from..from + i64::from(size)).contains(&(value as i64))
    };
    retain(events, |event| {
        inside(event.x, left, size.width) && inside(event.y, top, size.height)
    });
    events
        .x
        .iter_mut()
        .for_each(|x| *x = (i64::from(*x) - left) as u16);
    events
        .y
        .iter_mut()
        .for_each(|y| *y = (i64::from(*y) - top) as u16);
}

/// Moves every event to the pixel nearest to what `map` makes of its coordinates; events that leave the sensor are dropped.
pub(super) fn move_events(
    events: &mut EventBuffer,
    sensor: Sensor,
    mut map: impl FnMut(f64, f64) -> [f64; 2],
) {
    let (width, height) = (f64::from(sensor.width), f64::from(sensor.height));
    let mut len = 0;
    for k in 0..events.len() {
        let [x, y] = map(events.x[k].into(), events.y[k].into()).map(f64::round);
        if (0.0..width).contains(&x) && (0.0..height).contains(&y) {
            events.t[len] = events.t[k];
            (events.x[len], events.y[len]) = (x as u16, y as u16);
            events.p[len] = events.p[k];
            len += 1;
        }
    }
    events.truncate(len);
}

/// Sorts events by time; events at one time keep their order.
pub(super) fn sort_by_time(events: &mut EventBuffer) {
    if events.t.is_sorted() {
        return;
    }
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&k| events.t[k]);
    events.t = order.iter().map(|&k| events.t[k]).collect();
    events.x = order.iter().map(|&k| events.x[k]).collect();
    events.y = order.iter().map(|&k| events.y[k]).collect();
    events.p = order.iter().map(|&k| events.p[k]).collect();
}

/// The number of pixels, for memory that has an element for each.
pub(super) fn pixels(of: &'static str, width: usize, height: usize) -> Result<usize> {
    let count = width.saturating_mul(height);
    if count <= MAX_PIXELS {
        return Ok(count);
    }
    Err(ErrorKind::TooLarge {
        of,
        given: format!("{count} (width {width}, height {height})"),
        unit: "pixels",
        limit: MAX_PIXELS,
        help: "crop or downsample the events first",
    }
    .into())
}
