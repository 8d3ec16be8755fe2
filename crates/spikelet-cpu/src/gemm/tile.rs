//! Partition of the result into tiles: a tile is one single-threaded product over the full summation dimension.

use crate::parallel;
use std::ops::Range;

/// Multiply-adds below which a tile is not worth a separate task.
const SMALLEST_WORK: usize = 1 << 21;
/// Tile edges are multiples of this, and with it of the blocks and panels of the kernel.
const ROUND: usize = 96;

/// How far a result is split.
#[derive(Clone, Copy)]
pub(super) struct Split {
    /// Tiles are not split further once there are this many.
    enough: usize,
    /// Shortest edge of a split tile: each tile packs its operands again.
    edge: usize,
}

impl Split {
    /// One tile.
    pub(super) const NONE: Self = Self { enough: 1, edge: 1 };

    /// For a vendor's library, whose results depend on the tiles: not on the number of threads. Several tiles for each
    /// core of the machines that networks are trained on, for load balance.
    pub(super) const VENDOR: Self = Self {
        enough: 64,
        edge: 192,
    };

    /// For the built-in kernel, whose results do not depend on the tiles.
    pub(super) fn among(threads: usize) -> Self {
        Self {
            enough: if threads > 1 { 4 * threads } else { 1 },
            edge: 96,
        }
    }
}

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
    pub(super) fn new((m, n, k): (usize, usize, usize), split: Split) -> Self {
        let (mut down, mut across) = (1, 1);
        let edge = |size: usize, parts: usize| match parts {
            1 => size.max(1),
            parts => size.div_ceil(parts).next_multiple_of(ROUND).min(size),
        };
        loop {
            let tiles = Self {
                m,
                n,
                tile_m: edge(m, down),
                tile_n: edge(n, across),
            };
            let (height, width) = (tiles.tile_m, tiles.tile_n);
            let small = height * width / 2 < SMALLEST_WORK / k.max(1);
            // The longer edge is halved, so that tiles tend to squares and share their operands.
            if small || tiles.count() >= split.enough || height.max(width) < 2 * split.edge {
                return tiles;
            } else if height >= width {
                down *= 2;
            } else {
                across *= 2;
            }
        }
    }

    /// The number of tiles.
    fn count(self) -> usize {
        self.m.div_ceil(self.tile_m) * self.n.div_ceil(self.tile_n)
    }

    /// Rows and columns of tile `index`.
    fn get(self, index: usize) -> (Range<usize>, Range<usize>) {
        let across = self.n.div_ceil(self.tile_n);
        let (row, col) = (index / across * self.tile_m, index % across * self.tile_n);
        (
            row..(row + self.tile_m).min(self.m),
            col..(col + self.tile_n).min(self.n),
        )
    }

    /// Calls `each` with the rows and columns of every tile, in parallel.
    pub(super) fn for_each(self, each: impl Fn(Range<usize>, Range<usize>) + Sync + Send) {
        let one = |index| {
            let (rows, columns) = self.get(index);
            each(rows, columns);
        };
        match self.count() {
            0 => {}
            1 => one(0),
            count => parallel::for_each_task(count, one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Split, Tiles};

    #[test]
    fn tiles_cover_the_result_once() {
        for size in [
            (1, 1, 1),
            (512, 2048, 6272),
            (12800, 196, 784),
            (97, 1000, 3000),
        ] {
            let (m, n, _) = size;
            for split in [Split::VENDOR, Split::among(2), Split::NONE] {
                let tiles = Tiles::new(size, split);
                let mut seen = vec![0u8; m * n];
                for index in 0..tiles.count() {
                    let (rows, cols) = tiles.get(index);
                    for row in rows {
                        seen[row * n + cols.start..row * n + cols.end]
                            .iter_mut()
                            .for_each(|count| *count += 1);
                    }
                }
                assert!(seen.iter().all(|&count| count == 1), "{size:?}");
            }
        }
    }

    #[test]
    fn a_small_product_is_one_tile() {
        let count = |size| Tiles::new(size, Split::VENDOR).count();
        assert_eq!(count((64, 64, 64)), 1);
        assert_eq!(count((0, 5, 5)), 0);
    }
}
