//! Sizes of sensors.

use std::fmt;

use crate::{ErrorKind, EventBuffer};

/// The size of a sensor. A cochlea has its channels as width, and the height 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensor {
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

impl Sensor {
    /// A sensor of `width` columns and `height` rows.
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// The first event outside, from `start` on.
    pub(crate) fn first_outside(self, events: &EventBuffer, start: usize) -> Option<Outside> {
        // The largest value is found without a branch in each step.
        let largest = |values: &[u16]| values.iter().copied().max().unwrap_or(0);
        let first = |axis, values: &[u16], limit: u32| {
            let largest = largest(values);
            let is_outside = |&value: &u16| u32::from(value) >= limit;
            let at = is_outside(&largest).then(|| values.iter().position(is_outside))??;
            let value = values[at];
            Some(Outside {
                at,
                axis,
                value,
                limit,
                transposed: None,
            })
        };
        let x = first("x", &events.x[start..], self.width);
        let y = first("y", &events.y[start..], self.height);
        let outside = [x, y].into_iter().flatten().min_by_key(|found| found.at)?;
        let transposed = Self::new(self.height, self.width);
        let has_all = u32::from(largest(&events.x[start..])) < transposed.width
            && u32::from(largest(&events.y[start..])) < transposed.height;
        Some(Outside {
            transposed: has_all.then_some(transposed),
            ..outside
        })
    }
}

/// An event outside of a sensor.
pub(crate) struct Outside {
    /// Its position from the start.
    pub at: usize,
    axis: &'static str,
    value: u16,
    limit: u32,
    /// The transposed size, if it has all events from the start on.
    transposed: Option<Sensor>,
}

impl Outside {
    /// The error, if `before` events are before the start.
    pub(crate) fn error(self, before: u64, sensor: Sensor) -> ErrorKind {
        ErrorKind::Outside {
            event: before + self.at as u64,
            axis: self.axis,
            value: self.value,
            limit: self.limit,
            sensor,
            transposed: self.transposed,
        }
    }
}

/// As in messages: `width 346, height 260`. Images, frames and networks have their height first, so the words say which is which.
impl fmt::Display for Sensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "width {}, height {}", self.width, self.height)
    }
}
