//! Mutations of valid inputs. They depend only on the seed and the number of the input.

/// Unusual numbers as text.
const NUMBERS: [&str; 15] = [
    "0",
    "-1",
    "1e400",
    "-1e400",
    "1e-400",
    "0.5",
    "1e9",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "\"nan\"",
];

/// Numbers at the limits of their types.
const EDGES: [u64; 10] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff_ffff,
    1 << 32,
    1 << 62,
    i64::MAX as u64,
    u64::MAX,
];

/// The maximal length of an input.
const LONGEST: usize = 1 << 16;

/// SplitMix64, a small generator.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 for `end` = 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A random range of `length` bytes.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let longest = (length - start).min(64);
        start..start + self.below(longest + 1)
    }
}

/// Mutates valid inputs.
#[derive(Debug)]
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    seed: u64,
}

impl<'a> Mutator<'a> {
    /// A mutator for the target of this name.
    ///
    /// # Panics
    /// When the corpus is empty.
    pub fn new(name: &str, corpus: &'a [Vec<u8>], seed: u64) -> Self {
        assert!(!corpus.is_empty(), "{name} has no valid inputs");
        let of_name = name.bytes().fold(seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self {
            corpus,
            seed: of_name,
        }
    }

    /// The input with this number.
    pub fn input(&self, number: u64) -> Vec<u8> {
        let mut draws = Draws(self.seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        let mut input = self.corpus[draws.below(self.corpus.len())].clone();
        for _ in 0..=draws.below(6) {
            self.change(&mut input, &mut draws);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&self, input: &mut Vec<u8>, draws: &mut Draws) {
        let at = draws.below(input.len());
        match draws.below(10) {
            0 if !input.is_empty() => input[at] ^= 1 << draws.below(8),
            1 if !input.is_empty() => input[at] = draws.next() as u8,
            2 => {
                let edge = draws.of(&EDGES);
                let width = draws.of(&[1, 2, 4, 8]);
                let mut bytes = edge.to_le_bytes()[..width].to_vec();
                if draws.below(2) == 0 {
                    bytes.reverse();
                }
                let end = input.len().min(at + width);
                input.splice(at..end, bytes);
            }
            3 => {
                let range = draws.range(input.len());
                input.drain(range);
            }
            4 => {
                let range = draws.range(input.len());
                let copied = input[range].to_vec();
                input.splice(at..at, copied);
            }
            5 => {
                let other = &self.corpus[draws.below(self.corpus.len())];
                let copied = other[draws.range(other.len())].to_vec();
                let end = input.len().min(at + draws.below(2) * copied.len());
                input.splice(at..end, copied);
            }
            6 => input.truncate(at),
            7 => {
                let byte = draws.of(b"[{\"':,.}]-0\n=\\\0\xff");
                let repeated = [1, 1, 2, 300][draws.below(4)];
                input.splice(at..at, std::iter::repeat_n(byte, repeated));
            }
            // Numbers in texts.
            _ => {
                let is_digit = |&&k: &&usize| input[k].is_ascii_digit();
                let places: Vec<usize> = (at..input.len()).chain(0..at).collect();
                let Some(&start) = places.iter().find(is_digit) else {
                    return;
                };
                let digits = input[start..].iter();
                let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
                let number = draws.of(&NUMBERS);
                input.splice(start..start + length, number.bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_depends_on_target_seed_and_number_alone() {
        let corpus = vec![b"{\"a\": 1234}".to_vec(), vec![7; 40]];
        let inputs = |name: &str, seed| -> Vec<Vec<u8>> {
            let mutator = Mutator::new(name, &corpus, seed);
            (0..50).map(|number| mutator.input(number)).collect()
        };
        assert_eq!(inputs("a", 1), inputs("a", 1));
        assert_ne!(inputs("a", 1), inputs("a", 2));
        assert_ne!(inputs("a", 1), inputs("b", 1));
    }

    #[test]
    fn nothing_can_be_made_of_nothing_without_a_panic() {
        let corpus = vec![vec![]];
        let mutator = Mutator::new("empty", &corpus, 1);
        for number in 0..10_000 {
            mutator.input(number);
        }
    }
}
