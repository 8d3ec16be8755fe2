//! Images in figures.

/// An image, gray `[height, width]` or color `[height, width, 3]`, one byte per value.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<u8>,
}

impl Picture {
    /// Whether there are one or three values per pixel.
    pub(super) fn is_whole(&self) -> bool {
        let plane = self.width * self.height;
        plane > 0 && (self.pixels.len() == plane || self.pixels.len() == 3 * plane)
    }
}
