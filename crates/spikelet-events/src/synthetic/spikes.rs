//! Events that are generated in any order.

use crate::{EventBuffer, EventRandom};

/// Events as words that sort by time: 31 bits of time, 16 of `y`, 16 of `x`, the polarity.
#[derive(Debug, Default)]
pub(super) struct Spikes(Vec<u64>);

impl Spikes {
    /// Appends an event; times are from 0 to 2³¹ − 1 microseconds.
    #[inline]
    pub fn push(&mut self, t: u32, x: u16, y: u16, on: bool) {
        self.0
            .push(u64::from(t) << 33 | u64::from(y) << 17 | u64::from(x) << 1 | u64::from(on));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Lets time run backwards.
    pub fn reverse(&mut self, duration: u32) {
        for word in &mut self.0 {
            let t = duration.saturating_sub((*word >> 33) as u32);
            *word = u64::from(t) << 33 | *word & ((1 << 33) - 1);
        }
    }

    /// Exchanges ON and OFF.
    pub fn invert(&mut self) {
        self.0.iter_mut().for_each(|word| *word ^= 1);
    }

    /// Delays each event by up to `most` microseconds.
    pub fn delay(&mut self, most: u16, random: &mut EventRandom) {
        for pair in self.0.chunks_mut(2) {
            let bits = random.next_u32();
            for (word, bits) in pair.iter_mut().zip([bits & 0xffff, bits >> 16]) {
                *word += u64::from((bits * u32::from(most)) >> 16) << 33;
            }
        }
    }

    /// All events, sorted by time.
    pub fn sorted(mut self) -> EventBuffer {
        self.0.sort_unstable();
        EventBuffer {
            t: self.0.iter().map(|word| (word >> 33) as i64).collect(),
            x: self.0.iter().map(|word| (word >> 1) as u16).collect(),
            y: self.0.iter().map(|word| (word >> 17) as u16).collect(),
            p: self.0.iter().map(|word| (word & 1) as u8).collect(),
        }
    }
}

/// An integer from 0 to `n` − 1, of one random word; n ≤ 2³².
#[inline]
pub(super) fn below(random: &mut EventRandom, n: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(n)) >> 32) as u32
}

/// A number with mean 0 and standard deviation 1, at most 3.5 away from 0: the sum of four uniform ones.
#[inline]
pub(super) fn bell(random: &mut EventRandom) -> f64 {
    let (a, b) = (random.next_u32(), random.next_u32());
    let sum = (a >> 16) + (a & 0xffff) + (b >> 16) + (b & 0xffff);
    // Four uniform numbers have the mean 2 and the variance 1/3.
    (f64::from(sum) / 65536.0 - 2.0) * 1.732_050_807_568_877_2
}
