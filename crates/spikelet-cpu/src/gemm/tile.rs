//! Partition of the result into tiles.
//!
//! A tile is one single-threaded product over the full summation dimension. The partition depends
//! on the sizes alone, not on the number of threads, so every element is summed in the same order
//! for any number of threads.

use std::ops::Range;

/// Tiles are not split further once there are this many: several for each core of the machines that
/// networks are trained on, for load balance.
const ENOUGH_TILES: usize = 64;
/// Multiply-adds below which a tile is not worth a separate task.
const SMALLEST_WORK: usize = 1 << 21;
/// Shortest edge of a split tile: each tile packs its operands again, and below this edge the packing
/// costs more than a fifth of the product.
const SMALLEST_EDGE: usize = 192;
/// Tile edges are multiples of C's cache lines.
const ROUND: usize = 16;

/// The tiles of an m×n result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles {
    m: usize,
    n: usize,
    tile_m: usize,
    tile_n: usize,
}

impl Tiles {
    /// The partition for a product of these sizes.
    pub(super) fn new(m: usize, n: usize, k: usize) -> Self {
        let (mut down, mut across) = (1, 1);
        loop {
            let tiles = Self {
                m,
                n,
                tile_m: m.div_ceil(down).next_multiple_of(ROUND).clamp(1, m.max(1)),
                tile_n: n
                    .div_ceil(across)
                    .next_multiple_of(ROUND)
                    .clamp(1, n.max(1)),
            };
            let (height, width) = (tiles.tile_m, tiles.tile_n);
            let small = height * width / 2 < SMALLEST_WORK / k.max(1);
            // The longer edge is halved, so that tiles tend to squares and share their operands.
            if small || tiles.count() >= ENOUGH_TILES || height.max(width) < 2 * SMALLEST_EDGE {
                return tiles;
            } else if height >= width {
                down *= 2;
            } else {
                across *= 2;
            }
        }
    }

    /// One tile.
    pub(super) fn single(m: usize, n: usize) -> Self {
        Self {
            m,
            n,
            tile_m: m.max(1),
            tile_n: n.max(1),
        }
    }

    /// The number of tiles.
    pub(super) fn count(self) -> usize {
        self.m.div_ceil(self.tile_m) * self.n.div_ceil(self.tile_n)
    }

    /// Rows and columns of tile `index`.
    pub(super) fn get(self, index: usize) -> (Range<usize>, Range<usize>) {
        let across = self.n.div_ceil(self.tile_n);
        let (row, col) = (index / across * self.tile_m, index % across * self.tile_n);
        (
            row..(row + self.tile_m).min(self.m),
            col..(col + self.tile_n).min(self.n),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Tiles;

    #[test]
    fn tiles_cover_the_result_once() {
        for (m, n, k) in [
            (1, 1, 1),
            (512, 2048, 6272),
            (12800, 196, 784),
            (97, 1000, 3000),
        ] {
            let tiles = Tiles::new(m, n, k);
            let mut seen = vec![0u8; m * n];
            for index in 0..tiles.count() {
                let (rows, cols) = tiles.get(index);
                for row in rows {
                    seen[row * n + cols.start..row * n + cols.end]
                        .iter_mut()
                        .for_each(|count| *count += 1);
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{m}×{n}×{k}");
        }
    }

    #[test]
    fn a_small_product_is_one_tile() {
        assert_eq!(Tiles::new(64, 64, 64).count(), 1);
        assert_eq!(Tiles::new(0, 5, 5).count(), 0);
    }
}
