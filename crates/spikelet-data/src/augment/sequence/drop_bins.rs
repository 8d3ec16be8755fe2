//! Lost values.

use serde::{Deserialize, Serialize};

use super::registry::Named;
use super::{SequenceAugmentation, check_range};
use crate::error::Result;
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DropBins {
    /// The probability with which a value is lost.
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

    fn check(&self) -> Result<()> {
        let good = self.probability > 0.0 && self.probability < 1.0;
        let expected = "above 0 and below 1";
        check_range(Self::NAME, "probability", self.probability, good, expected)
    }
}

impl Named for DropBins {
    const NAME: &'static str = "drop-bins";
    const USAGE: &'static str = "drop-bins=PROBABILITY";

    fn from_value(value: f64) -> Option<Self> {
        Some(Self { probability: value })
    }

    fn value(&self) -> f64 {
        self.probability
    }
}
