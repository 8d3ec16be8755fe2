//! Random shifts in time.

use serde::{Deserialize, Serialize};

use super::channel_shift::shift_by;
use super::registry::{Named, integer};
use super::{SequenceAugmentation, around_zero, check_count};
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Moves a sequence by a random number of time steps, earlier or later; steps without a source are 0.
///
/// ```
/// use spikelet_data::{SampleRandom, SequenceAugmentation, TimeShift};
///
/// let mut x = [1, 2, 3, 4, 5, 6]; // 3 steps of 2 channels
/// TimeShift { steps: 1 }.augment(&mut x, [3, 2], &mut SampleRandom::of_sample(0, 0, 4));
/// assert_eq!(x, [3, 4, 5, 6, 0, 0]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeShift {
    /// The largest shift in both directions.
    pub steps: usize,
}

impl SequenceAugmentation for TimeShift {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [steps, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let most = steps as isize;
        let shift = around_zero(random, self.steps).clamp(-most, most);
        shift_by(values, shift * channels as isize);
    }

    fn check(&self) -> Result<()> {
        check_count(Self::NAME, "steps", self.steps, "1 to 2^20 steps")
    }

    fn moves_steps(&self) -> bool {
        true
    }
}

impl Named for TimeShift {
    const NAME: &'static str = "time-shift";
    const USAGE: &'static str = "time-shift=STEPS";

    fn from_value(value: f64) -> Option<Self> {
        integer(value).map(|steps| Self { steps })
    }

    fn value(&self) -> f64 {
        self.steps as f64
    }
}
