//! The images of a run, of which its report shows some.

#[cfg(feature = "plots")]
use spikelet_data::ImageDataset;
use spikelet_data::{LazySplit, Split};
#[cfg(feature = "plots")]
use std::sync::Arc;

/// The memory of the test images that a report reads again, if they are not in memory.
#[cfg(feature = "plots")]
const MOST_BYTES: usize = 64 << 20;

/// The images of a run.
#[derive(Clone, Debug)]
pub(super) enum RunImages {
    /// All of them in memory.
    InMemory(Split),
    /// Read when they are needed.
    Lazy(LazySplit),
}

impl RunImages {
    /// The number of test images.
    pub(super) fn tested(&self) -> usize {
        match self {
            Self::InMemory(split) => split.test.len(),
            Self::Lazy(split) => split.test().len(),
        }
    }

    /// The test images in memory: all of them, or the first ones, at least one, in at most 64 MiB.
    #[cfg(feature = "plots")]
    pub(super) fn shown(&self) -> spikelet_data::Result<Arc<ImageDataset>> {
        Ok(match self {
            Self::InMemory(split) => split.test.clone(),
            Self::Lazy(split) => {
                let bytes = split.shown(&[0])?.image_len().max(1);
                let count = (MOST_BYTES / bytes).clamp(1, split.test().len());
                Arc::new(split.shown(&(0..count).collect::<Vec<_>>())?)
            }
        })
    }
}
