//! The configuration of a loader.

use std::sync::Arc;

use crate::augment::{Augment, Normalize};
use crate::dataset::Dataset;
use crate::digest::Parts;
use crate::error::{Error, Result};

/// The configuration of a [`DataLoader`](crate::DataLoader).
///
/// | field | default | |
/// |---|---|---|
/// | `batch_size` | 128 | number of samples of a batch |
/// | `shuffle` | true | a new random order in each epoch |
/// | `drop_last` | false | drop an incomplete last batch |
/// | `seed` | 0 | seed of the order, the augmentation and the transforms |
/// | `augment` | none | random augmentation of image fields, for training images |
/// | `normalize` | none | mean and standard deviation with which image fields are normalized |
/// | `weighted` | none | draw samples with replacement, instead of each once |
/// | `threads` | 0 | number of threads that prepare batches; 0 selects it automatically |
/// | `prefetch_bytes` | 4 GiB | memory of the batches that are prepared in advance |
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderConfig {
    /// The number of samples of a batch.
    pub batch_size: usize,
    /// Whether each epoch has a new random order, instead of that of the data set.
    pub shuffle: bool,
    /// Whether to drop a last batch with fewer than `batch_size` samples.
    pub drop_last: bool,
    /// The seed of the random order, the augmentation and the transforms.
    pub seed: u64,
    /// The random augmentation of images or sequences, after the transforms.
    pub augment: Augment,
    /// The normalization of the images, after the augmentation.
    pub normalize: Option<Normalize>,
    /// Draws the samples of an epoch by their weights; `shuffle` is then unused.
    pub weighted: Option<WeightedSampling>,
    /// The number of threads that prepare batches in advance. 0 selects one for samples in memory that are not changed,
    /// otherwise one per core, up to 16. The batches do not depend on it.
    pub threads: usize,
    /// The largest memory of the batches that are prepared in advance, or are being prepared, in bytes; those of the
    /// caller do not count. Each of these batches counts as much as the largest one so far, since its size may only be
    /// known when it is complete. At least one batch is always prepared. The batches do not depend on it.
    ///
    /// A batch of 256 RGB images of 224 × 224 pixels has 147 MiB: the default allows 27 of them.
    pub prefetch_bytes: usize,
}

/// The memory of prepared batches by default: 4 GiB, or all where addresses have 32 bits.
const PREFETCH_BYTES: usize = (1_u64 << 32).saturating_sub(1) as usize;

impl Default for LoaderConfig {
    fn default() -> Self {
        Self {
            batch_size: 128,
            shuffle: true,
            drop_last: false,
            seed: 0,
            augment: Augment::default(),
            normalize: None,
            weighted: None,
            threads: 0,
            prefetch_bytes: PREFETCH_BYTES,
        }
    }
}

impl From<usize> for LoaderConfig {
    /// The defaults with this number of samples of a batch.
    fn from(batch_size: usize) -> Self {
        Self {
            batch_size,
            ..Self::default()
        }
    }
}

/// Samples drawn with replacement, each with a probability in proportion to its weight: for classes of unequal sizes.
///
/// ```
/// use spikelet_data::{DataLoader, LoaderConfig, WeightedSampling, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// // Only zeros and ones, three times as many ones.
/// let weights = digits.labels()?.into_iter().map(|label| [1.0, 3.0].get(label as usize).copied().unwrap_or(0.0));
/// let weighted = WeightedSampling { weights: weights.collect(), samples: 400 };
/// let config = LoaderConfig { weighted: Some(weighted), batch_size: 400, ..LoaderConfig::default() };
/// let batch = DataLoader::new(digits, config)?.epoch(0, 0).next().expect("an epoch has a batch")?;
/// let ones = batch.i64("labels")?.iter().filter(|&&label| label == 1).count();
/// assert!((260..340).contains(&ones));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSampling {
    /// The weight of each sample of the data set: finite, at least 0, and not all 0.
    pub weights: Arc<[f64]>,
    /// The number of samples of an epoch.
    pub samples: usize,
}

impl WeightedSampling {
    /// A SHA-256 digest of the weights and the number of samples.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let digest = Parts::of("weighted sampling").number(self.samples);
        digest.values(&self.weights, f64::to_le_bytes).finish()
    }

    /// Checks the weights of the samples of `dataset`.
    pub(super) fn check(&self, dataset: &dyn Dataset) -> Result<()> {
        let problem = if self.weights.len() != dataset.len() {
            format!("{} weights were given", self.weights.len())
        } else if let Some(at) = (self.weights.iter()).position(|w| !(w.is_finite() && *w >= 0.0)) {
            format!("the weight of sample {at} is {}", self.weights[at])
        } else if let total = self.weights.iter().sum::<f64>()
            && !(total > 0.0 && total.is_finite())
        {
            format!("the sum of the weights is {total}")
        } else if u32::try_from(self.samples).is_err() {
            format!("{} samples an epoch are too many", self.samples)
        } else {
            return Ok(());
        };
        Err(Error::Weights {
            dataset: dataset.name().into(),
            len: dataset.len(),
            problem,
        })
    }
}

/// The shard of an epoch that one of several ranks loads. Ranks take turns batch by batch.
///
/// | field | default | |
/// |---|---|---|
/// | `rank` | 0 | loads the batches `rank`, `rank + ranks`, … |
/// | `ranks` | 1 | number of ranks |
/// | `first_sample` | 0 | number of samples of the epoch that are skipped |
///
/// The concurrent batches of all ranks are therefore consecutive: together they are one large batch of the
/// epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of samples of the epoch that are skipped.
    pub first_sample: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            rank: 0,
            ranks: 1,
            first_sample: 0,
        }
    }
}
