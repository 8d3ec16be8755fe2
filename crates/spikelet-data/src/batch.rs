//! A batch of images.

/// A batch of images with their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The pixels, `[batch, channels, height, width]`, 0 (black) to 1: a byte divided by 255,
    /// unless they are normalized or noise is added.
    pub images: Vec<f32>,
    /// The class of each image.
    pub labels: Vec<i64>,
    /// The index of each image in the data set.
    pub indices: Vec<u32>,
    /// The index of the batch in the epoch, from 0, over all ranks.
    pub index_in_epoch: usize,
}

impl Batch {
    /// The number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images. A loader has no such batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}
