//! Lost values.

use spikelet_schema::Schema;

use super::SequenceAugmentation;
use crate::sample_random::SampleRandom;

/// Sets each value of a sequence, one channel at one time step, to 0 with a probability.
///
/// ```
/// use spikelet_data::{DropBins, SampleRandom, SequenceAugmentation};
///
/// let mut x = [1; 1000];
/// DropBins { probability: 0.1 }.augment(&mut x, [100, 10], &mut SampleRandom::of_sample(0, 0, 0));
/// let lost = x.iter().filter(|&&value| value == 0).count();
/// assert!((70..130).contains(&lost));
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct DropBins {
    /// The probability with which a value is lost.
    #[schema(main, required, above = 0, below = 1)]
    pub probability: f64,
}

impl SequenceAugmentation for DropBins {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        _: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let probability = self.probability as f32;
        for value in values {
            if random.chance(probability) {
                *value = V::default();
            }
        }
    }
}
