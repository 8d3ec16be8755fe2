//! The random numbers of one encoder or layer.

use crate::batch::{Batch, ELEMENTS, GROUPS};
use crate::{RandomError, normal_pair, philox4x32_10, unit};
use spikelet_expr::vectorized;

/// The draws of one encoder or layer in one training step.
///
/// Each number is a function of the fields, the time step and the element's index, defined by the
/// table in the [crate's documentation](crate). The methods that fill slices write the same numbers
/// as the methods for one element, for every range and on every machine. Indices are modulo 2³⁴.
///
/// | field | |
/// |---|---|
/// | `seed` | of the run |
/// | `id` | number of the encoder or layer, unique in the program |
/// | `step` | training step |
///
/// ```
/// use spikelet_random::Stream;
///
/// let stream = Stream { seed: 42, id: 0, step: 10 };
/// let mut spikes = [0.0; 3];
/// stream.fill_bernoulli(0, 0, &[0.0, 0.5, 1.0], &mut spikes)?;
/// assert_eq!((spikes[0], spikes[2]), (0.0, 1.0));
/// # Ok::<(), spikelet_random::RandomError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Seed of the run: the key of the random function.
    pub seed: u64,
    /// Number of the encoder or layer: word 2 of the counter.
    pub id: u32,
    /// Training step: word 3 of the counter.
    pub step: u32,
}

impl Stream {
    #[inline(always)]
    pub(crate) fn key(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }

    /// The random word of one element.
    #[inline]
    pub fn word(&self, time: u32, element: u64) -> u32 {
        let counter = [(element / 4) as u32, time, self.id, self.step];
        philox4x32_10(counter, self.key())[(element % 4) as usize]
    }

    /// The uniform number in (0, 1] of one element.
    #[inline]
    pub fn uniform(&self, time: u32, element: u64) -> f32 {
        unit(self.word(time, element))
    }

    /// The standard normal number of one element.
    #[inline]
    pub fn normal(&self, time: u32, element: u64) -> f32 {
        let even = element & !1;
        let (x, y) = normal_pair(self.word(time, even), self.word(time, even + 1));
        if element == even { x } else { y }
    }

    /// A Bernoulli draw of one element with probability `p`; never true for p ≤ 0 and NaN, always true
    /// for p ≥ 1.
    #[inline]
    pub fn bernoulli(&self, time: u32, element: u64, p: f32) -> bool {
        self.uniform(time, element) <= p
    }

    /// Writes the uniform numbers in (0, 1] of the elements starting at `first_element`.
    pub fn fill_uniform(&self, time: u32, first_element: u64, out: &mut [f32]) {
        vectorized(
            (Batch::new(self, time), first_element, out),
            #[inline(always)]
            |(batch, first_element, out)| {
                for (words, skip, range) in batch.over(first_element, out.len()) {
                    for (out, word) in out[range].iter_mut().zip(&words[skip..]) {
                        *out = unit(*word);
                    }
                }
            },
        );
    }

    /// Writes the standard normal numbers of the elements starting at `first_element`.
    pub fn fill_normal(&self, time: u32, first_element: u64, out: &mut [f32]) {
        vectorized(
            (Batch::new(self, time), first_element, out),
            #[inline(always)]
            |(batch, first_element, out)| {
                for (words, skip, range) in batch.over(first_element, out.len()) {
                    let mut numbers = [0.0; ELEMENTS];
                    for (pair, words) in numbers.chunks_exact_mut(2).zip(words.chunks_exact(2)) {
                        (pair[0], pair[1]) = normal_pair(words[0], words[1]);
                    }
                    let numbers = &numbers[skip..skip + range.len()];
                    out[range].copy_from_slice(numbers);
                }
            },
        );
    }

    /// Writes Bernoulli draws, 1 or 0, of the elements starting at `first_element`, with the
    /// probabilities `p`.
    ///
    /// # Errors
    ///
    /// [`RandomError::Length`] if `p` and `out` differ in length.
    pub fn fill_bernoulli(
        &self,
        time: u32,
        first_element: u64,
        p: &[f32],
        out: &mut [f32],
    ) -> Result<(), RandomError> {
        check_length(p.len(), p.len(), out.len())?;
        vectorized(
            (Batch::new(self, time), first_element, p, out),
            #[inline(always)]
            |(batch, first_element, p, out)| {
                for (words, skip, range) in batch.over(first_element, out.len()) {
                    let p = &p[range.clone()];
                    for ((out, word), p) in out[range].iter_mut().zip(&words[skip..]).zip(p) {
                        *out = if unit(*word) <= *p { 1.0 } else { 0.0 };
                    }
                }
            },
        );
        Ok(())
    }

    /// [`fill_bernoulli`](Self::fill_bernoulli) with 64 elements packed into a word: bit `i % 64` of
    /// `out[i / 64]` is element `first_element + i`. Bits beyond the last element are 0.
    ///
    /// # Errors
    ///
    /// [`RandomError::Length`] if `out` does not have ⌈`p.len()` / 64⌉ words,
    /// [`RandomError::Unaligned`] if `first_element` is not a multiple of 4.
    ///
    /// ```
    /// use spikelet_random::Stream;
    ///
    /// let stream = Stream { seed: 42, id: 0, step: 10 };
    /// let mut bits = [0];
    /// stream.fill_bernoulli_bits(0, 0, &[1.0, 0.0, 1.0], &mut bits)?;
    /// assert_eq!(bits, [0b101]);
    /// # Ok::<(), spikelet_random::RandomError>(())
    /// ```
    pub fn fill_bernoulli_bits(
        &self,
        time: u32,
        first_element: u64,
        p: &[f32],
        out: &mut [u64],
    ) -> Result<(), RandomError> {
        let group = check_bits(p.len(), first_element, out)?;
        vectorized(
            (Batch::new(self, time), group, p, out),
            #[inline(always)]
            |(batch, mut group, p, out)| {
                for (out, p) in out.iter_mut().zip(p.chunks(ELEMENTS)) {
                    let mut padded = [0.0; ELEMENTS];
                    padded[..p.len()].copy_from_slice(p);
                    *out = fired(&batch.consecutive(group), &padded);
                    group = group.wrapping_add(GROUPS as u32);
                }
            },
        );
        Ok(())
    }
}

/// A word with the bits of the elements that fire.
#[inline(always)]
fn fired(words: &[u32; ELEMENTS], p: &[f32; ELEMENTS]) -> u64 {
    let mut bits = 0;
    for lane in 0..ELEMENTS {
        bits |= u64::from(unit(words[lane]) <= p[lane]) << lane;
    }
    bits
}

/// Checks the lengths and the start of a packed row, and returns its first group.
pub(crate) fn check_bits(
    probabilities: usize,
    first_element: u64,
    out: &[u64],
) -> Result<u32, RandomError> {
    check_length(probabilities, probabilities.div_ceil(64), out.len())?;
    if !first_element.is_multiple_of(4) {
        return Err(RandomError::Unaligned { first_element });
    }
    Ok((first_element / 4) as u32)
}

fn check_length(probabilities: usize, expected: usize, given: usize) -> Result<(), RandomError> {
    if expected != given {
        return Err(RandomError::Length {
            probabilities,
            expected,
            given,
        });
    }
    Ok(())
}
