//! Several data sets, one after the other.

use std::sync::Arc;

use spikelet_events::transforms::EventTransform;
use spikelet_schema::Member;

use crate::dataset::{Dataset, check_index};
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;

/// The samples of several data sets with the same fields, one data set after the other.
///
/// ```
/// use spikelet_data::{Concat, Dataset, synthetic};
///
/// let digits = synthetic::digits_of(1, 100, 10);
/// let all = Concat::new(vec![digits.train, digits.test])?;
/// assert_eq!(all.len(), 110);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Concat {
    name: String,
    datasets: Vec<Arc<dyn Dataset>>,
    /// The number of samples up to the end of each data set.
    ends: Vec<usize>,
}

impl Concat {
    /// All samples of `datasets`.
    ///
    /// # Errors
    /// [`Error::Concat`] if there is no data set, or their fields differ.
    pub fn new(datasets: Vec<Arc<dyn Dataset>>) -> Result<Self> {
        let names: Vec<&str> = datasets.iter().map(|dataset| dataset.name()).collect();
        // Parts of one data set are that data set.
        let name = match names.split_first() {
            Some((first, others)) if others.iter().all(|name| name == first) => first.to_string(),
            _ => names.join(" + "),
        };
        let text =
            |fields: &[Field]| -> Vec<String> { fields.iter().map(Field::to_string).collect() };
        let first = datasets
            .first()
            .map(|first| first.fields())
            .unwrap_or_default();
        let other = datasets.iter().find(|dataset| dataset.fields() != first);
        if datasets.is_empty() || other.is_some() {
            return Err(Error::Concat {
                first: names
                    .first()
                    .map_or("no data set".into(), |&name| name.into()),
                expected: text(&first),
                other: other.map_or("no data set".into(), |other| other.name().into()),
                found: text(&other.map(|other| other.fields()).unwrap_or_default()),
            });
        }
        let mut end = 0;
        let ends = datasets.iter().map(|dataset| {
            end += dataset.len();
            end
        });
        Ok(Self {
            name,
            ends: ends.collect(),
            datasets,
        })
    }

    /// The data set of a sample, and its index there; there is such a sample.
    fn find(&self, index: usize) -> (&dyn Dataset, usize) {
        let at = self.ends.partition_point(|&end| end <= index);
        let before = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&*self.datasets[at], index - before)
    }
}

impl Dataset for Concat {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn fields(&self) -> Vec<Field> {
        self.datasets[0].fields()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let (dataset, index) = self.find(index);
        dataset.sample(index)
    }

    fn augmented(
        &self,
        index: usize,
        augment: &[Member<dyn EventTransform>],
        random: &SampleRandom,
    ) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let (dataset, index) = self.find(index);
        dataset.augmented(index, augment, random)
    }

    fn has_events(&self) -> bool {
        self.datasets.iter().all(|dataset| dataset.has_events())
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let mut digest = Parts::of("concat");
        for dataset in &self.datasets {
            digest = digest.part(&dataset.digest()?).number(dataset.len());
        }
        Ok(digest.finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.datasets[0].class_names(field)
    }

    fn in_memory(&self) -> bool {
        self.datasets.iter().all(|dataset| dataset.in_memory())
    }

    fn check(&self) -> Result<()> {
        self.datasets.iter().try_for_each(|dataset| dataset.check())
    }
}
