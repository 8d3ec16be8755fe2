//! A data set whose samples are changed by transforms, the same in every epoch.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::digest::Parts;
use crate::error::Result;
use crate::field::Field;
use crate::sample::Sample;
use crate::sample_random::SampleRandom;
use crate::transform::Transform;

/// A data set whose samples are changed by transforms, the same in every epoch: images for an evaluation, for example, that
/// are resized and cropped. It has the name of the data set.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{CenterCrop, Dataset, Transformed, synthetic};
///
/// let digits = synthetic::digits_of(0, 10, 1).train;
/// let middle = Transformed::new(digits, vec![Arc::new(CenterCrop { size: [20, 20] })])?;
/// assert_eq!(middle.sample(3)?.require("images")?.shape, [1, 20, 20]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transformed {
    dataset: Arc<dyn Dataset>,
    transforms: Vec<Arc<dyn Transform>>,
    fields: Vec<Field>,
}

impl Transformed {
    /// Changes the samples of `dataset` with these transforms, in their order.
    ///
    /// # Errors
    /// If a transform cannot be applied to the fields.
    pub fn new(dataset: Arc<dyn Dataset>, transforms: Vec<Arc<dyn Transform>>) -> Result<Self> {
        let fields = transforms
            .iter()
            .try_fold(dataset.fields(), |fields, transform| {
                transform.fields(fields)
            })?;
        Ok(Self {
            dataset,
            transforms,
            fields,
        })
    }
}

impl Dataset for Transformed {
    fn name(&self) -> &str {
        self.dataset.name()
    }

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        let mut sample = self.dataset.sample(index)?;
        let random = SampleRandom::of_sample(0, 0, index as u32);
        for (position, transform) in self.transforms.iter().enumerate() {
            transform.apply(&mut sample, &mut random.of_transform(position))?;
        }
        Ok(sample)
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let digest = Parts::of("transformed").part(&self.dataset.digest()?);
        Ok(digest
            .part(format!("{:?}", self.transforms).as_bytes())
            .finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.dataset.class_names(field)
    }

    fn check(&self) -> Result<()> {
        self.dataset.check()
    }
}
