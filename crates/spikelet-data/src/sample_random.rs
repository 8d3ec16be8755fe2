//! The random numbers of one sample or batch in one epoch.

use spikelet_events::EventRandom;
use spikelet_random::{normal_pair, philox4x32_10, unit};

/// The first random stream of transforms of samples; each transform has its own.
const SAMPLE_STREAM: u32 = 0xda80_0000;

/// The first random stream of transforms of batches.
const BATCH_STREAM: u32 = 0xda90_0000;

/// A sequence of random numbers that depends only on the seed of the loader, the epoch, the sample and the position of
/// the transform in the chain, not on threads, ranks, batch size or earlier samples.
///
/// Every transform has a sequence of its own: a transform that draws more numbers does not change those of the others.
///
/// ```
/// use spikelet_data::SampleRandom;
///
/// let mut random = SampleRandom::of_sample(1, 0, 17);
/// let (flip, x) = (random.chance(0.5), random.below(9));
/// let mut again = SampleRandom::of_sample(1, 0, 17);
/// assert_eq!((again.chance(0.5), again.below(9)), (flip, x));
/// ```
#[derive(Clone, Debug)]
pub struct SampleRandom {
    seed: u64,
    epoch: u64,
    /// Words 1 to 3 of the counter: the sample, the stream, the epoch.
    counter: [u32; 3],
    /// The stream of transform 0.
    base: u32,
    position: u32,
    words: [u32; 4],
}

impl SampleRandom {
    /// The random numbers of sample `index`.
    #[must_use]
    pub fn of_sample(seed: u64, epoch: u64, index: u32) -> Self {
        Self::new(seed, epoch, index, SAMPLE_STREAM)
    }

    /// The random numbers of the batch whose first sample is at position `first` in the epoch.
    #[must_use]
    pub fn of_batch(seed: u64, epoch: u64, first: u32) -> Self {
        Self::new(seed, epoch, first, BATCH_STREAM)
    }

    fn new(seed: u64, epoch: u64, index: u32, stream: u32) -> Self {
        let (high, low) = ((epoch >> 32) as u32, epoch as u32);
        let base = stream.wrapping_add(high << 12);
        Self {
            seed,
            epoch,
            counter: [index, base, low],
            base,
            position: 0,
            words: [0; 4],
        }
    }

    /// The sequence of transform number `position` of the chain, from its start.
    #[must_use]
    pub fn of_transform(&self, position: usize) -> Self {
        let [index, _, epoch] = self.counter;
        Self {
            counter: [index, self.base.wrapping_add(position as u32), epoch],
            position: 0,
            ..*self
        }
    }

    /// The random numbers of the changes of the events of this sample.
    pub(crate) fn of_events(&self) -> EventRandom {
        EventRandom::new(self.seed, self.epoch, self.counter[0])
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The sequence of the same transform and sample in another epoch, from its start.
    ///
    /// ```
    /// use spikelet_data::SampleRandom;
    ///
    /// let mut random = SampleRandom::of_sample(1, 7, 17).of_transform(2).in_epoch(0);
    /// assert_eq!(random.unit(), SampleRandom::of_sample(1, 0, 17).of_transform(2).unit());
    /// ```
    #[must_use]
    pub fn in_epoch(&self, epoch: u64) -> Self {
        let [index, stream, _] = self.counter;
        let old = ((self.epoch >> 32) as u32) << 12;
        let new = ((epoch >> 32) as u32) << 12;
        let base = self.base.wrapping_sub(old).wrapping_add(new);
        Self {
            epoch,
            counter: [
                index,
                stream.wrapping_sub(old).wrapping_add(new),
                epoch as u32,
            ],
            base,
            position: 0,
            ..*self
        }
    }

    /// The next random word.
    pub fn next_u32(&mut self) -> u32 {
        let lane = (self.position % 4) as usize;
        if lane == 0 {
            let [index, stream, epoch] = self.counter;
            let key = [self.seed as u32, (self.seed >> 32) as u32];
            self.words = philox4x32_10([self.position / 4, index, stream, epoch], key);
        }
        self.position = self.position.wrapping_add(1);
        self.words[lane]
    }

    /// A uniform number in (0, 1].
    pub fn unit(&mut self) -> f32 {
        unit(self.next_u32())
    }

    /// A uniform number from `low` to `high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A uniform integer in `0..n`; 0 for n = 0. The bias is below n · 2⁻⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        let word = u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32;
        ((u128::from(word) * n as u128) >> 64) as usize
    }

    /// True with probability `p`; never for p ≤ 0, always for p ≥ 1.
    pub fn chance(&mut self, p: f32) -> bool {
        self.unit() <= p
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f32 {
        let first = self.next_u32();
        normal_pair(first, self.next_u32()).0
    }
}
