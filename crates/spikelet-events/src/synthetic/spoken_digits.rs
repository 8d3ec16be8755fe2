//! Words before a cochlea.

use super::generate::{MAX_SAMPLES, Recording, SyntheticSet};
use super::spikes::{Spikes, bell, below};
use crate::{EventBuffer, EventRandom, Sensor};
use spikelet_schema::Schema;

/// Spikes of a cochlea that hears words of about 0.6 seconds, as those of SHD: ten words, and each of them reversed in time.
///
/// A word is three sounds of three formants. Each formant passes each third of its band once, rising or falling, with the
/// same number of spikes. Words differ in the order of the thirds and in the directions. All 20 classes thus have the same
/// distribution of spikes summed over time: a classifier that does not see time guesses. Words are not those of a language;
/// the names only count them.
///
/// Twelve speakers differ in pitch, formants, speed and loudness. Speakers 4 and 5 are among the test samples only.
///
/// ```
/// use spikelet_events::synthetic::{SpokenDigits, SyntheticSet};
///
/// let set = SpokenDigits::default();
/// let events = set.events(1, 40)?;
/// assert_eq!((set.classes()[1], set.label(40), set.speaker(40)), ("zero reversed", 0, Some(2)));
/// assert!((2000..12_000).contains(&events.len()));
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source of the format: B. Cramer et al., The Heidelberg Spiking Data Sets, 2022.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "synthetic-spoken-digits")]
pub struct SpokenDigits {
    /// The number of channels.
    #[schema(main, default = 700, at_least = 30, at_most = 65536)]
    pub channels: u32,
    /// The part of spikes at random times and channels, added to all others; at most 1.
    #[schema(default = 0.25, from = 0, to = 1)]
    pub noise: f64,
    /// The number of samples for training.
    #[schema(default = 2000, at_least = 0, at_most = MAX_SAMPLES)]
    pub train: u32,
    /// The number of samples for tests.
    #[schema(default = 480, at_least = 0, at_most = MAX_SAMPLES)]
    pub test: u32,
}

/// The words: for each formant, the thirds of its band in their order. Capitals fall, small letters rise. Two neighbors
/// differ in one formant.
const WORDS: [[&[u8; 3]; 3]; 10] = [
    [b"abc", b"Bca", b"CAb"],
    [b"abc", b"Cab", b"CAb"],
    [b"cBA", b"aBC", b"BaC"],
    [b"Bca", b"aBC", b"BaC"],
    [b"bAc", b"cBa", b"aCB"],
    [b"bAc", b"cBa", b"bcA"],
    [b"CaB", b"BAc", b"Acb"],
    [b"CaB", b"bCA", b"Acb"],
    [b"aCb", b"ACb", b"cbA"],
    [b"cAB", b"ACb", b"cbA"],
];

/// The formants: the ends of their bands in parts of all channels, and their parts of all spikes.
const FORMANTS: [([f64; 2], f64); 3] = [
    ([0.09, 0.32], 0.42),
    ([0.36, 0.62], 0.34),
    ([0.66, 0.90], 0.24),
];

/// The standard deviation of a formant in parts of all channels.
const WIDTH: f64 = 0.018;

const SPEAKERS: u32 = 12;

/// What recordings of a speaker share.
#[derive(Debug)]
struct Speaker {
    /// Microseconds between two pulses of the voice.
    period: f64,
    /// The shift of all formants in parts of all channels.
    shift: f64,
    /// The factor of durations.
    slowness: f64,
    /// The spikes of a word.
    loudness: f64,
}

impl Speaker {
    fn new(seed: u64, number: u32) -> Self {
        let mut random = EventRandom::of_synthetic(seed, 1, number);
        Self {
            period: random.between(4000.0, 9000.0),
            shift: random.between(-0.03, 0.03),
            slowness: random.between(0.8, 1.25),
            loudness: random.between(3500.0, 7500.0),
        }
    }
}

impl SyntheticSet for SpokenDigits {
    fn title(&self) -> &'static str {
        "Synthetic spoken digits"
    }

    fn classes(&self) -> &'static [&'static str] {
        &[
            "zero",
            "zero reversed",
            "one",
            "one reversed",
            "two",
            "two reversed",
            "three",
            "three reversed",
            "four",
            "four reversed",
            "five",
            "five reversed",
            "six",
            "six reversed",
            "seven",
            "seven reversed",
            "eight",
            "eight reversed",
            "nine",
            "nine reversed",
        ]
    }

    fn sensor(&self) -> Sensor {
        Sensor::new(self.channels, 1)
    }

    fn samples(&self) -> [u32; 2] {
        [self.train, self.test]
    }

    fn speaker_of(&self, number: u32, is_test: bool) -> Option<u32> {
        if is_test {
            return Some(number % SPEAKERS);
        }
        // 4 and 5 are left out.
        let speaker = number % (SPEAKERS - 2);
        Some(if speaker < 4 { speaker } else { speaker + 2 })
    }

    fn generate(&self, recording: Recording) -> EventBuffer {
        let mut random = recording.random;
        let speaker = Speaker::new(recording.seed, recording.speaker.unwrap_or(0));
        let (mut spikes, duration) = self.word(recording.label, &speaker, &mut random);
        for _ in 0..(self.noise * spikes.len() as f64) as u32 {
            let t = below(&mut random, duration);
            spikes.push(t, below(&mut random, self.channels) as u16, 0, true);
        }
        spikes.sorted()
    }
}

impl SpokenDigits {
    /// The spikes of a word without noise, and its duration in microseconds.
    fn word(&self, label: u32, speaker: &Speaker, random: &mut EventRandom) -> (Spikes, u32) {
        let mut spikes = Spikes::default();
        let slowness = speaker.slowness * random.between(0.9, 1.1) * 1e6;
        let shift = speaker.shift + random.between(-0.01, 0.01);
        let loudness = speaker.loudness * random.between(0.8, 1.2);
        let strengths = FORMANTS.map(|(_, part)| part * random.between(0.3, 1.7));
        let mut start = random.between(0.0, 0.15) * slowness;
        for sound in 0..3 {
            let length = random.between(0.1, 0.3) * slowness;
            let formants = FORMANTS.iter().zip(WORDS[label as usize / 2]);
            for ((([low, high], _), thirds), strength) in formants.zip(strengths) {
                let third = (high - low) / 3.0;
                let letter = thirds[sound];
                let low = low + shift + third * f64::from((letter | 32) - b'a');
                let falls = letter.is_ascii_uppercase();
                for _ in 0..(loudness * strength / 3.0) as u32 {
                    let pulse = (random.unit() * length / speaker.period).floor();
                    let t = (pulse + 0.5 + 0.15 * bell(random)) * speaker.period;
                    let u = (t / length).clamp(0.0, 1.0);
                    let place = low + third * if falls { 1.0 - u } else { u };
                    self.spike(start + t, place + WIDTH * bell(random), &mut spikes);
                }
            }
            start += length + random.between(0.0, 0.03) * slowness;
        }
        let duration = (start + random.between(0.0, 0.15) * slowness) as u32;
        if label % 2 == 1 {
            spikes.reverse(duration);
        }
        (spikes, duration)
    }

    /// A spike at a place from 0 to 1 of all channels.
    fn spike(&self, t: f64, place: f64, spikes: &mut Spikes) {
        let channel = (place * f64::from(self.channels)).clamp(0.0, f64::from(self.channels - 1));
        spikes.push(t.max(0.0) as u32, channel as u16, 0, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sounds of a word, and of the word reversed.
    fn both(word: &[&[u8; 3]; 3]) -> [Vec<u8>; 2] {
        let reversed = word.map(|thirds| {
            let mut thirds = *thirds;
            thirds.reverse();
            thirds.map(|letter| letter ^ 32)
        });
        [word.map(|thirds| *thirds).concat(), reversed.concat()]
    }

    #[test]
    fn all_words_and_their_reversals_are_different() {
        let mut words: Vec<_> = WORDS.iter().flat_map(both).collect();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), SpokenDigits::default().classes().len());
    }

    #[test]
    fn every_word_has_each_third_of_each_band_once() {
        for thirds in WORDS.iter().flatten() {
            let mut letters = thirds.to_ascii_lowercase();
            letters.sort_unstable();
            assert_eq!(letters, b"abc");
        }
    }

    #[test]
    fn a_reversed_word_is_the_word_with_time_reversed() {
        let (set, speaker) = (SpokenDigits::default(), Speaker::new(3, 1));
        let word = |label| {
            let mut random = EventRandom::of_synthetic(3, 0, 5);
            let (spikes, duration) = set.word(label, &speaker, &mut random);
            (spikes.sorted(), i64::from(duration))
        };
        for label in (0..20).step_by(2) {
            let ((first, duration), (second, _)) = (word(label), word(label + 1));
            let mut expected: Vec<_> = first.t.iter().map(|t| duration - t).zip(first.x).collect();
            expected.sort_unstable();
            let found: Vec<_> = second.t.into_iter().zip(second.x).collect();
            assert!(found == expected, "label {label}");
        }
    }
}
