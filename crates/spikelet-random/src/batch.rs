//! The random words of many elements at once.

use std::ops::Range;

use crate::Stream;
use crate::philox::{Keys, keys, philox};

/// Groups of four elements in a batch: two AVX-512 registers for each word of the counter.
pub(crate) const GROUPS: usize = 16;
/// Elements in a batch.
pub(crate) const ELEMENTS: usize = 4 * GROUPS;

/// The key and the counter words that all elements of a fill share.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    keys: Keys,
    time: u64,
    id: u64,
    step: u64,
}

impl Batch {
    #[inline(always)]
    pub(crate) fn new(stream: &Stream, time: u32) -> Self {
        Batch {
            keys: keys(stream.key()),
            time: u64::from(time),
            id: u64::from(stream.id),
            step: u64::from(stream.step),
        }
    }

    /// The words of the elements starting at `4 * group`.
    #[inline(always)]
    pub(crate) fn consecutive(&self, group: u32) -> [u32; ELEMENTS] {
        let mut words = [0; ELEMENTS];
        for (lane, words) in words.chunks_exact_mut(4).enumerate() {
            // The high half of a lane is ignored, so this wraps as a u32 does.
            let group = u64::from(group) + lane as u64;
            let [w0, w1, w2, w3] = philox([group, self.time, self.id, self.step], &self.keys);
            words[0] = w0 as u32;
            words[1] = w1 as u32;
            words[2] = w2 as u32;
            words[3] = w3 as u32;
        }
        words
    }

    /// The words of a range of elements in batches of `(words, skip, range)`: `words[skip..]` belongs
    /// to the elements `range`, counted from the first.
    #[inline(always)]
    pub(crate) fn over(
        &self,
        first_element: u64,
        len: usize,
    ) -> impl Iterator<Item = ([u32; ELEMENTS], usize, Range<usize>)> {
        let skip = (first_element % 4) as usize;
        let group = (first_element / 4) as u32;
        (0..(skip + len).div_ceil(ELEMENTS)).map(
            #[inline(always)]
            move |k| {
                let words = self.consecutive(group.wrapping_add((k * GROUPS) as u32));
                let start = (k * ELEMENTS).saturating_sub(skip);
                let end = ((k + 1) * ELEMENTS - skip).min(len);
                (words, if k == 0 { skip } else { 0 }, start..end)
            },
        )
    }

    /// The four words of each group: `words[w][lane]` is word `w` of `groups[lane]`.
    #[inline(always)]
    pub(crate) fn scattered(&self, groups: &[u32; GROUPS]) -> [[u32; GROUPS]; 4] {
        let mut words = [[0; GROUPS]; 4];
        for lane in 0..GROUPS {
            let group = u64::from(groups[lane]);
            let [w0, w1, w2, w3] = philox([group, self.time, self.id, self.step], &self.keys);
            words[0][lane] = w0 as u32;
            words[1][lane] = w1 as u32;
            words[2][lane] = w2 as u32;
            words[3][lane] = w3 as u32;
        }
        words
    }
}
