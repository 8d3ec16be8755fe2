//! A random choice of batch transforms.

use std::sync::Arc;

use crate::batch::Batch;
use crate::error::Result;
use crate::field::Field;
use crate::sample_random::SampleRandom;
use crate::transform::BatchTransform;

/// Applies one of several batch transforms, each with the same probability. All must give the same fields.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{CutMix, DataLoader, LoaderConfig, MixUp, OneOf, synthetic};
///
/// let mix = OneOf(vec![
///     Arc::new(MixUp { alpha: 0.2, classes: 10 }),
///     Arc::new(CutMix { alpha: 1.0, classes: 10 }),
/// ]);
/// let digits = synthetic::digits_of(1, 100, 10).train;
/// let loader = DataLoader::new(digits, LoaderConfig::default())?.batch_transform(mix)?;
/// assert_eq!(loader.fields()[1].to_string(), "labels: f32[10]");
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OneOf(pub Vec<Arc<dyn BatchTransform>>);

impl BatchTransform for OneOf {
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()> {
        match self.0.get(random.below(self.0.len())) {
            Some(transform) => transform.apply(batch, random),
            None => Ok(()),
        }
    }

    fn fields(&self, fields: Vec<Field>) -> Result<Vec<Field>> {
        let mut changed = None;
        for transform in &self.0 {
            let own = transform.fields(fields.clone())?;
            if changed.get_or_insert_with(|| own.clone()) != &own {
                return Err(crate::Error::custom(format!(
                    "`OneOf`: {transform:?} gives other fields than the transforms before it\n  \
                     help: choose between transforms that change the same tensors"
                )));
            }
        }
        Ok(changed.unwrap_or(fields))
    }
}
