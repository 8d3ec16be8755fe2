//! A sequential generator for the host.

use crate::{Stream, normal_pair, philox4x32_10, unit};

/// Yields the words of one [`Stream`] in order: for shuffles, synthetic data and initial values.
///
/// Word number i is output `i % 4` of the counter `[i / 4, i / 2³⁴, id, step]`. Objects whose draws
/// must not depend on each other need streams of their own.
///
/// ```
/// use spikelet_random::{Generator, Stream};
///
/// let mut generator = Generator::new(Stream { seed: 3, id: 0, step: 0 });
/// let mut order: Vec<usize> = (0..10).collect();
/// generator.shuffle(&mut order);
/// assert!(generator.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    stream: Stream,
    position: u64,
    words: [u32; 4],
}

impl Generator {
    /// A generator at word 0 of `stream`.
    pub fn new(stream: Stream) -> Self {
        Generator {
            stream,
            position: 0,
            words: [0; 4],
        }
    }

    /// The next random word.
    pub fn next_u32(&mut self) -> u32 {
        let lane = (self.position % 4) as usize;
        if lane == 0 {
            let group = self.position / 4;
            let Stream { id, step, .. } = self.stream;
            let counter = [group as u32, (group >> 32) as u32, id, step];
            self.words = philox4x32_10(counter, self.stream.key());
        }
        self.position += 1;
        self.words[lane]
    }

    /// The next two words, the first one low.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// A uniform integer in `0..n`, without bias; 0 for n = 0.
    ///
    /// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29, 2019.
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let (high, low) = ((product >> 64) as u64, product as u64);
            // The 2⁶⁴ mod n words that would bias the result are those with a smaller low half.
            if low >= n || low >= n.wrapping_neg() % n {
                return high;
            }
        }
    }

    /// A uniform number in (0, 1], see [`unit()`].
    pub fn unit(&mut self) -> f32 {
        unit(self.next_u32())
    }

    /// A standard normal number; consumes two words, see [`normal_pair`].
    pub fn normal(&mut self) -> f32 {
        let first = self.next_u32();
        normal_pair(first, self.next_u32()).0
    }

    /// Shuffles `items` (Fisher and Yates); all permutations are equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(seed: u64) -> Generator {
        Generator::new(Stream {
            seed,
            id: 5,
            step: 2,
        })
    }

    #[test]
    fn a_generator_yields_the_words_of_its_stream_at_time_zero() {
        let mut generator = generator(9);
        let stream = generator.stream;
        for element in 0..20 {
            assert_eq!(generator.next_u32(), stream.word(0, element));
        }
    }

    #[test]
    fn a_generator_continues_beyond_the_elements_of_one_time_step() {
        let mut generator = generator(9);
        generator.position = 1 << 34;
        assert_eq!(generator.next_u32(), generator.stream.word(1, 0));
    }

    #[test]
    fn integers_below_a_bound_are_uniform() {
        let mut generator = generator(1);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[generator.below(6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn integers_below_a_large_bound_skip_the_words_that_would_bias_them() {
        // A quarter of the words has to be skipped: if all were used, some values would belong
        // to two words and the residues modulo 3 would not be equally likely.
        let n = 3 << 62;
        let mut generator = generator(1);
        let mut counts = [0_u32; 3];
        for _ in 0..30_000 {
            let value = generator.below(n);
            assert!(value < n);
            counts[(value % 3) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn bounds_of_zero_and_one_give_zero() {
        assert_eq!((generator(1).below(0), generator(1).below(1)), (0, 0));
    }

    #[test]
    fn a_shuffle_is_a_permutation_and_every_place_is_equally_likely() {
        let mut generator = generator(4);
        let mut places_of_zero = [0_u32; 5];
        for _ in 0..20_000 {
            let mut items = [0, 1, 2, 3, 4];
            generator.shuffle(&mut items);
            let mut sorted = items;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            places_of_zero[items.iter().position(|item| *item == 0).unwrap()] += 1;
        }
        assert!(
            places_of_zero.iter().all(|n| n.abs_diff(4_000) < 250),
            "{places_of_zero:?}"
        );
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut generator = generator(7);
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|_| f64::from(generator.normal())).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(n);
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(
            mean.abs() < 0.012 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
    }
}
