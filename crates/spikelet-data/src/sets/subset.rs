//! Some samples of a data set.

use std::sync::Arc;

use spikelet_events::transforms::EventTransform;
use spikelet_schema::Member;

use crate::dataset::{Dataset, check_index, first_labels};
use crate::digest::Parts;
use crate::error::Result;
use crate::field::Field;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;

/// The samples of a data set with these indices, in their order. An index may occur several times.
///
/// ```
/// use spikelet_data::{Dataset, Subset, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let labels = digits.labels()?;
/// let zeros = (0..100).filter(|&index| labels[index] == 0).collect();
/// assert_eq!(Subset::new(digits, zeros)?.len(), 10);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subset {
    dataset: Arc<dyn Dataset>,
    indices: Vec<usize>,
}

impl Subset {
    /// The samples of these indices.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index) if the data set does not have one of them.
    pub fn new(dataset: Arc<dyn Dataset>, indices: Vec<usize>) -> Result<Self> {
        if let Some(&largest) = indices.iter().max() {
            check_index(&*dataset, largest)?;
        }
        Ok(Self { dataset, indices })
    }

    /// The index in the full data set of each sample.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }
}

impl Dataset for Subset {
    fn name(&self) -> &str {
        self.dataset.name()
    }

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn fields(&self) -> Vec<Field> {
        self.dataset.fields()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        self.dataset.sample(self.indices[index])
    }

    fn augmented(
        &self,
        index: usize,
        augment: &[Member<dyn EventTransform>],
        random: &SampleRandom,
    ) -> Result<Sample<'_>> {
        check_index(self, index)?;
        self.dataset.augmented(self.indices[index], augment, random)
    }

    fn has_events(&self) -> bool {
        self.dataset.has_events()
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let digest = Parts::of("subset").part(&self.dataset.digest()?);
        let bytes = |index| (index as u64).to_le_bytes();
        Ok(digest.values(&self.indices, bytes).finish())
    }

    fn labels(&self) -> Result<Vec<i64>> {
        if !self.in_memory() {
            return first_labels(self);
        }
        let all = self.dataset.labels()?;
        Ok(self.indices.iter().map(|&index| all[index]).collect())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.dataset.class_names(field)
    }

    fn in_memory(&self) -> bool {
        self.dataset.in_memory()
    }

    fn check(&self) -> Result<()> {
        self.dataset.check()
    }
}
