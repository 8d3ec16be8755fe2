//! Results in the memory of operands.

/// Which kernels of a device may overwrite their operands; by default none.
pub trait InPlaceUpdates {
    /// Whether backward scans, and gradients of max pooling over blocks, read each element of their
    /// operands before they write the gradient in its place.
    fn overwrites_sequences(&self) -> bool {
        false
    }
}
