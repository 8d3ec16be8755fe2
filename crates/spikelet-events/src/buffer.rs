//! Events in memory.

/// Events, column by column. All columns have the same length; the order is that of the file.
///
/// | column | unit | |
/// |---|---|---|
/// | `t` | microseconds | may decrease in damaged recordings |
/// | `x`, `y` | pixels | `y` as the file has it; a cochlea has its channel in `x` and 0 in `y` |
/// | `p` | | polarity, 0 (off) or 1 (on) |
///
/// ```
/// let mut events = spikelet_events::EventBuffer::default();
/// events.push(40, 3, 7, true);
/// assert_eq!((events.len(), events.p[0]), (1, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventBuffer {
    /// Times in microseconds.
    pub t: Vec<i64>,
    /// Columns of the sensor.
    pub x: Vec<u16>,
    /// Rows of the sensor.
    pub y: Vec<u16>,
    /// Polarities, 0 or 1.
    pub p: Vec<u8>,
}

impl EventBuffer {
    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, t: i64, x: u16, y: u16, on: bool) {
        self.t.push(t);
        self.x.push(x);
        self.y.push(y);
        self.p.push(u8::from(on));
    }

    /// Reserves memory for more events.
    pub fn reserve(&mut self, events: usize) {
        self.t.reserve(events);
        self.x.reserve(events);
        self.y.reserve(events);
        self.p.reserve(events);
    }

    /// Gives unused memory back.
    pub(crate) fn shrink(&mut self) {
        self.t.shrink_to_fit();
        self.x.shrink_to_fit();
        self.y.shrink_to_fit();
        self.p.shrink_to_fit();
    }

    /// Appends all events of another buffer.
    pub fn extend(&mut self, other: &Self) {
        self.t.extend_from_slice(&other.t);
        self.x.extend_from_slice(&other.x);
        self.y.extend_from_slice(&other.y);
        self.p.extend_from_slice(&other.p);
    }

    /// Keeps the first `len` events.
    pub fn truncate(&mut self, len: usize) {
        self.t.truncate(len);
        self.x.truncate(len);
        self.y.truncate(len);
        self.p.truncate(len);
    }

    /// Removes all events and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}
