//! Bands of pooling blocks, for scans whose outputs are max-pooled.

use super::Float;
use spikelet_expr::vectorized;

/// Approximate elements of a band, which consists of full rows of blocks.
const BAND: usize = 4096;

/// Channels that are compared in SIMD lanes.
const LANES: usize = 64;

/// A step `[.., height, width, channels]`, partitioned into bands of full rows of blocks, which are
/// contiguous.
#[derive(Clone, Copy)]
pub(super) struct PoolTiles {
    block: [usize; 2],
    width: usize,
    channels: usize,
    /// Elements of a band; the last may have fewer.
    pub(super) length: usize,
}

impl PoolTiles {
    pub(super) fn new(block: [usize; 2], step: &[usize]) -> Self {
        let [.., width, channels] = *step else {
            unreachable!("the graph checked that a pooled step has height, width and channels")
        };
        let row = block[0].saturating_mul(width).saturating_mul(channels);
        Self {
            block,
            width,
            channels,
            length: row.saturating_mul((BAND / row.max(1)).max(1)),
        }
    }

    /// The number of elements after pooling.
    pub(super) fn pooled(&self, elements: usize) -> usize {
        elements / (self.block[0] * self.block[1])
    }

    /// Calls `each` with every block: the offsets of its first element and of its result, and the number
    /// of channels.
    #[inline(always)]
    fn blocks(&self, elements: usize, mut each: impl FnMut(usize, usize, usize)) {
        let (h, w) = (self.block[0], self.block[1]);
        let row = h * self.width * self.channels;
        let across = self.width / w;
        for r in 0..elements / row.max(1) {
            for x in 0..across {
                let from = r * row + x * w * self.channels;
                let to = (r * across + x) * self.channels;
                for c in (0..self.channels).step_by(LANES) {
                    each(from + c, to + c, LANES.min(self.channels - c));
                }
            }
        }
    }

    /// The distances of a block's elements from its first one, in row-major order.
    #[inline(always)]
    fn inside(&self) -> impl Iterator<Item = usize> {
        let (w, width, channels) = (self.block[1], self.width, self.channels);
        (0..self.block[0]).flat_map(move |y| (0..w).map(move |x| (y * width + x) * channels))
    }

    /// The maxima of a band's blocks.
    pub(super) fn maxima<R: Float>(&self, spikes: &[R], to: &mut [R]) {
        vectorized(
            (self, spikes, to),
            #[inline(always)]
            |(this, spikes, to)| {
                this.blocks(
                    spikes.len(),
                    #[inline(always)]
                    |from, at, count| {
                        let to = &mut to[at..at + count];
                        to.copy_from_slice(&spikes[from..from + count]);
                        for by in this.inside() {
                            for (to, x) in to.iter_mut().zip(&spikes[from + by..][..count]) {
                                *to = x.max_nan(*to);
                            }
                        }
                    },
                );
            },
        );
    }

    /// Writes the gradient of every block at its first maximum, and 0 at its other elements.
    pub(super) fn route<R: Float>(&self, spikes: &mut [R], g: &[R]) {
        vectorized(
            (self, spikes, g),
            #[inline(always)]
            |(this, spikes, g)| {
                this.blocks(
                    spikes.len(),
                    #[inline(always)]
                    |from, at, count| {
                        let mut max = [R::ZERO; LANES];
                        let mut chosen = [0_u32; LANES];
                        max[..count].copy_from_slice(&spikes[from..from + count]);
                        for (k, by) in (0_u32..).zip(this.inside()) {
                            let x = &spikes[from + by..][..count];
                            for ((max, chosen), &x) in max.iter_mut().zip(&mut chosen).zip(x) {
                                let larger = x > *max;
                                *max = if larger { x } else { *max };
                                *chosen = if larger { k } else { *chosen };
                            }
                        }
                        let g = &g[at..at + count];
                        for (k, by) in (0_u32..).zip(this.inside()) {
                            let x = &mut spikes[from + by..][..count];
                            for ((x, chosen), &g) in x.iter_mut().zip(&chosen).zip(g) {
                                *x = if *chosen == k { g } else { R::ZERO };
                            }
                        }
                    },
                );
            },
        );
    }
}
