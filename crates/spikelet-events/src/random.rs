//! The random numbers of one recording in one epoch.

/// The first random stream of transforms of events; each transform has its own.
const STREAM: u32 = 0xdaa0_0000;

/// The first random stream of synthetic recordings.
const SYNTHETIC_STREAM: u32 = 0xdab0_0000;

/// A sequence of random numbers that depends only on seed, epoch, sample and the position of the transform in the chain.
///
/// ```
/// use spikelet_events::EventRandom;
///
/// let draw = |seed| EventRandom::new(seed, 0, 17).of_transform(2).below(1000);
/// assert_eq!(draw(1), draw(1));
/// assert_ne!(draw(1), draw(2));
/// ```
///
/// Source: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011 (Philox 4x32-10).
#[derive(Clone, Debug)]
pub struct EventRandom {
    key: [u32; 2],
    /// Words 1 to 3 of the counter: the sample, the stream, the epoch.
    counter: [u32; 3],
    position: u32,
    words: [u32; 4],
}

impl EventRandom {
    /// The random numbers of sample `index` in an epoch.
    #[must_use]
    pub fn new(seed: u64, epoch: u64, index: u32) -> Self {
        let stream = STREAM.wrapping_add(((epoch >> 32) as u32) << 12);
        Self::at(seed, [index, stream, epoch as u32])
    }

    /// The random numbers of a synthetic recording (`part` 0), or of something that recordings share.
    pub(crate) fn of_synthetic(seed: u64, part: u32, index: u32) -> Self {
        Self::at(seed, [index, SYNTHETIC_STREAM + part, 0])
    }

    fn at(seed: u64, counter: [u32; 3]) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            counter,
            position: 0,
            words: [0; 4],
        }
    }

    /// The sequence of transform number `position` of a chain, from its start.
    #[must_use]
    pub fn of_transform(&self, position: usize) -> Self {
        let [index, stream, epoch] = self.counter;
        Self {
            counter: [index, stream.wrapping_add(position as u32), epoch],
            position: 0,
            ..*self
        }
    }

    /// The next random word.
    pub fn next_u32(&mut self) -> u32 {
        let lane = (self.position % 4) as usize;
        if lane == 0 {
            let [index, stream, epoch] = self.counter;
            self.words = philox([self.position / 4, index, stream, epoch], self.key);
        }
        self.position = self.position.wrapping_add(1);
        self.words[lane]
    }

    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// A uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A uniform number from `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A uniform integer in `0..n`; 0 for n = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

fn philox(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [
            (p1 >> 32) as u32 ^ c[1] ^ key[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ c[3] ^ key[1],
            p0 as u32,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    c
}

#[cfg(test)]
mod tests {
    #[test]
    fn philox_agrees_with_the_known_answers_of_random123() {
        let digits_of_pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(
            super::philox([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            super::philox(digits_of_pi, [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
