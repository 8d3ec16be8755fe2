//! What a network sees at once.

/// Some images with their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The pixels, `[batch, channels, height, width]`, 0 (black) to 1: a byte divided by 255,
    /// unless they are normalized or have noise in them.
    pub images: Vec<f32>,
    /// The class of each image.
    pub labels: Vec<i64>,
    /// Which image of the data set each is.
    pub indices: Vec<u32>,
    /// Which batch of the epoch this is, counted from 0, over all ranks that share it.
    pub index_in_epoch: usize,
}

impl Batch {
    /// Number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images; a loader makes no such batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}
