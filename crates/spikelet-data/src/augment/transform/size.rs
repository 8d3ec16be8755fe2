//! The size of images that transforms produce.

/// The largest height and width of an image that a transform produces.
pub(super) const MAX_SIDE: usize = 1 << 15;
