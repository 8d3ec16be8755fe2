//! Random speeds.

use spikelet_schema::Schema;

use super::{SequenceAugmentation, random_factor};
use crate::sample_random::SampleRandom;

/// Plays a sequence faster or slower: a speed between 1 / (1 + change) and 1 + change, each time step from the nearest
/// one of the recording; steps behind its end are 0. Of speech, this is another speaking rate.
///
/// ```
/// use spikelet_data::{SampleRandom, SequenceAugmentation, TimeStretch};
///
/// let recording: Vec<u8> = (1..=8).collect(); // 8 steps of one channel
/// let mut x = recording.clone();
/// TimeStretch { change: 0.5 }.augment(&mut x, [8, 1], &mut SampleRandom::of_sample(0, 0, 2));
/// assert!(x != recording && x.iter().all(|value| *value <= 8));
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct TimeStretch {
    /// The largest change of the speed, as a part of it.
    #[schema(main, required, above = 0, at_most = 1)]
    pub change: f64,
}

impl SequenceAugmentation for TimeStretch {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [steps, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let speed = random_factor(random, self.change);
        let recording = values.to_vec();
        for (t, step) in values.chunks_exact_mut(channels.max(1)).enumerate() {
            let from = ((t as f32 + 0.5) * speed) as usize;
            match from < steps {
                true => step.copy_from_slice(&recording[from * channels..][..channels]),
                false => step.fill(V::default()),
            }
        }
    }

    fn moves_steps(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_in_both_directions_and_within_the_limit() {
        let recording: Vec<u8> = (1..=100).collect();
        let (mut faster, mut slower) = (0, 0);
        for index in 0..200 {
            let mut x = recording.clone();
            let random = &mut SampleRandom::of_sample(0, 0, index);
            TimeStretch { change: 0.25 }.augment(&mut x, [100, 1], random);
            let last = x.iter().rposition(|value| *value > 0).unwrap();
            assert!(x.is_sorted_by(|a, b| a <= b || *b == 0));
            assert!(last >= 79 && x[99] == 0 || x[99] >= 79);
            (faster, slower) = (
                faster + usize::from(x[99] == 0),
                slower + usize::from(x[99] > 0),
            );
        }
        assert!(
            faster > 60 && slower > 60,
            "{faster} faster, {slower} slower"
        );
    }
}
