//! Frames that the device of a training run makes.

use spikelet_events::frames::DeviceSlicing;

/// The largest side of a sensor: coordinates have 15 bits.
pub(crate) const MAX_SIDE: usize = 1 << 15;

/// The rule by which a device makes the frames of the field `events`, i64 `[M]`: one word for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceFrames {
    /// How events are cut into frames.
    pub slicing: DeviceSlicing,
    /// The number of frames.
    pub steps: usize,
    /// Height and width of the sensor.
    pub sensor: [usize; 2],
    /// Height and width of the frames.
    pub size: [usize; 2],
    /// The largest number of events of a sample.
    pub events: usize,
}

impl DeviceFrames {
    /// The shape of a frame: polarities, height and width.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        let [height, width] = self.size;
        [2, height, width]
    }

    /// An event in one word: time in the upper half, then polarity, row and column, of 15 bits each.
    pub(crate) fn word(&self, t: u32, x: u16, y: u16, p: u8) -> i64 {
        let low = u32::from(p != 0) << 30 | u32::from(y) << 15 | u32::from(x);
        (u64::from(t) << 32 | u64::from(low)) as i64
    }
}
