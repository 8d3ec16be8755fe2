//! Events of a camera or a cochlea, column by column.

use std::borrow::Cow;

/// The events of one sample. All columns have the same length.
///
/// | column | unit | |
/// |---|---|---|
/// | `t` | microseconds | time, not decreasing in most files |
/// | `x`, `y` | pixels | position; a cochlea has its channel in `x` and 0 in `y` |
/// | `p` | | polarity, 0 (off) or 1 (on) |
///
/// ```
/// use spikelet_data::Events;
///
/// let events = Events { t: vec![0, 40].into(), x: vec![3, 5].into(), y: vec![0, 1].into(), p: vec![1, 0].into() };
/// assert_eq!(events.len(), Some(2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events<'a> {
    /// Times in microseconds.
    pub t: Cow<'a, [i64]>,
    /// Columns.
    pub x: Cow<'a, [u16]>,
    /// Rows.
    pub y: Cow<'a, [u16]>,
    /// Polarities.
    pub p: Cow<'a, [u8]>,
}

impl Events<'_> {
    /// The number of events; `None` if the columns have different lengths.
    #[must_use]
    pub fn len(&self) -> Option<usize> {
        let len = self.t.len();
        let others = [self.x.len(), self.y.len(), self.p.len()];
        (others == [len; 3]).then_some(len)
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The same events, borrowed.
    #[must_use]
    pub fn borrow(&self) -> Events<'_> {
        Events {
            t: Cow::Borrowed(&*self.t),
            x: Cow::Borrowed(&*self.x),
            y: Cow::Borrowed(&*self.y),
            p: Cow::Borrowed(&*self.p),
        }
    }

    /// The same events without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Events<'static> {
        Events {
            t: Cow::Owned(self.t.into_owned()),
            x: Cow::Owned(self.x.into_owned()),
            y: Cow::Owned(self.y.into_owned()),
            p: Cow::Owned(self.p.into_owned()),
        }
    }
}

/// The events of all samples of a batch, one sample after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventBatch {
    /// The events of sample `k` are those from `offsets[k]` to `offsets[k + 1]`.
    pub offsets: Vec<usize>,
    /// Times in microseconds.
    pub t: Vec<i64>,
    /// Columns.
    pub x: Vec<u16>,
    /// Rows.
    pub y: Vec<u16>,
    /// Polarities.
    pub p: Vec<u8>,
}

impl EventBatch {
    /// The events of sample `k`; `None` past the end.
    #[must_use]
    pub fn sample(&self, k: usize) -> Option<Events<'_>> {
        let range = *self.offsets.get(k)?..*self.offsets.get(k + 1)?;
        Some(Events {
            t: Cow::Borrowed(self.t.get(range.clone())?),
            x: Cow::Borrowed(self.x.get(range.clone())?),
            y: Cow::Borrowed(self.y.get(range.clone())?),
            p: Cow::Borrowed(self.p.get(range)?),
        })
    }

    /// The bytes of all columns.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.offsets.as_slice())
            + size_of_val(self.t.as_slice())
            + size_of_val(self.x.as_slice())
            + size_of_val(self.y.as_slice())
            + self.p.len()
    }

    /// Removes all samples and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.t.clear();
        self.x.clear();
        self.y.clear();
        self.p.clear();
    }

    /// Appends a sample, whose columns have one length.
    pub(crate) fn push(&mut self, events: &Events<'_>) {
        self.t.extend_from_slice(&events.t);
        self.x.extend_from_slice(&events.x);
        self.y.extend_from_slice(&events.y);
        self.p.extend_from_slice(&events.p);
        self.offsets.push(self.t.len());
    }
}
