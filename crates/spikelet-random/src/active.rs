//! Packed Bernoulli draws from a row with many zero probabilities.
//!
//! An image that is encoded as spikes is drawn from once per time step, and most of its pixels
//! are black. Draws are independent of each other, so groups of four elements with probability
//! zero are skipped. These groups are found once per image.

use crate::batch::{Batch, ELEMENTS, GROUPS};
use crate::distribution::threshold;
use crate::stream::check_bits;
use crate::{RandomError, Stream};
use spikelet_expr::vectorized;

/// A row of firing probabilities without the groups of four zeros.
///
/// ```
/// use spikelet_random::{ActiveGroups, Stream};
///
/// let mut image = [0.0; 784];
/// image[300..340].fill(0.5);
/// let active = ActiveGroups::new(&image);
/// assert_eq!((active.len(), active.active()), (784, 10));
///
/// let stream = Stream { seed: 42, id: 0, step: 10 };
/// let (mut sparse, mut dense) = ([0; 13], [0; 13]);
/// for time in 0..100 {
///     active.fill_bernoulli_bits(&stream, time, 0, &mut sparse)?;
///     stream.fill_bernoulli_bits(time, 0, &image, &mut dense)?;
///     assert_eq!(sparse, dense);
/// }
/// # Ok::<(), spikelet_random::RandomError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ActiveGroups {
    len: usize,
    active: usize,
    blocks: Vec<Block>,
}

/// The groups that are drawn at once. The last block is padded with group 0 and thresholds that
/// never fire.
#[derive(Clone, Debug)]
struct Block {
    groups: [u32; GROUPS],
    thresholds: [[u32; GROUPS]; 4],
}

impl ActiveGroups {
    /// Finds the groups of `p` that can fire.
    pub fn new(p: &[f32]) -> Self {
        let mut found = Self::default();
        found.assign(p);
        found
    }

    /// An empty row with capacity for `len` probabilities.
    pub fn with_capacity(len: usize) -> Self {
        ActiveGroups {
            blocks: Vec::with_capacity(len.div_ceil(ELEMENTS)),
            ..Self::default()
        }
    }

    /// Finds the groups of another row; allocates nothing if the capacity suffices.
    pub fn assign(&mut self, p: &[f32]) {
        self.len = p.len();
        self.active = 0;
        self.blocks.clear();
        for (group, p) in p.chunks(4).enumerate() {
            let mut thresholds = [0; 4];
            for (threshold_of, p) in thresholds.iter_mut().zip(p) {
                *threshold_of = threshold(*p);
            }
            if thresholds != [0; 4] {
                self.push(group as u32, thresholds);
            }
        }
    }

    fn push(&mut self, group: u32, thresholds: [u32; 4]) {
        let lane = self.active % GROUPS;
        if lane == 0 {
            self.blocks.push(Block {
                groups: [0; GROUPS],
                thresholds: [[0; GROUPS]; 4],
            });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.groups[lane] = group;
            for (all, threshold) in block.thresholds.iter_mut().zip(thresholds) {
                all[lane] = threshold;
            }
        }
        self.active += 1;
    }

    /// Number of probabilities in the row.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the row has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of groups of four elements that can fire. The time of a fill is proportional to it.
    pub fn active(&self) -> usize {
        self.active
    }

    /// The same bits as [`Stream::fill_bernoulli_bits`] for the row's probabilities.
    ///
    /// # Errors
    ///
    /// [`RandomError::Length`] if `out` does not have ⌈[`len`](Self::len) / 64⌉ words,
    /// [`RandomError::Unaligned`] if `first_element` is not a multiple of 4.
    pub fn fill_bernoulli_bits(
        &self,
        stream: &Stream,
        time: u32,
        first_element: u64,
        out: &mut [u64],
    ) -> Result<(), RandomError> {
        let first_group = check_bits(self.len, first_element, out)?;
        out.fill(0);
        vectorized(
            (Batch::new(stream, time), first_group, &self.blocks[..], out),
            #[inline(always)]
            |(batch, first_group, blocks, out)| {
                for block in blocks {
                    let bits = block.fired(&batch, first_group);
                    for (group, bits) in block.groups.iter().zip(bits) {
                        out[*group as usize / GROUPS] |= bits;
                    }
                }
            },
        );
        Ok(())
    }
}

impl Block {
    /// The four bits of each group, at their position in their word of the row.
    #[inline(always)]
    fn fired(&self, batch: &Batch, first_group: u32) -> [u64; GROUPS] {
        let words = batch.scattered(&self.groups.map(
            #[inline(always)]
            |group| first_group.wrapping_add(group),
        ));
        let mut bits = [0; GROUPS];
        for lane in 0..GROUPS {
            let mut four = 0;
            for (element, (words, thresholds)) in words.iter().zip(&self.thresholds).enumerate() {
                four |= u32::from(words[lane] >> 8 < thresholds[lane]) << element;
            }
            bits[lane] = u64::from(four) << (4 * self.groups[lane] % ELEMENTS as u32);
        }
        bits
    }
}
