//! Where the next piece of an arena fits, among the pieces that are alive at the same time.
//!
//! A binary tree over time: each of its nodes stands for a range of a program's operations and has
//! the bytes that are taken then. So a piece finds its place without a look at every other piece,
//! and pieces side by side, such as those that a backward pass waits for, count as one.

use super::aligned;

/// The bytes that are taken: from and to, ascending, apart from each other.
#[derive(Clone, Default)]
struct Taken(Vec<(usize, usize)>);

impl Taken {
    fn add(&mut self, from: usize, to: usize) {
        let first = self.0.partition_point(|piece| piece.1 < from);
        let last = self.0.partition_point(|piece| piece.0 <= to);
        let touched = &self.0[first..last];
        let from = touched.first().map_or(from, |piece| piece.0.min(from));
        let to = touched.last().map_or(to, |piece| piece.1.max(to));
        self.0.splice(first..last, [(from, to)]);
    }
}

/// Pieces that have a place.
pub(super) struct Space {
    /// Leaves of the tree. Node 1 is the root, node k has the children 2k and 2k + 1.
    leaves: usize,
    /// By node, what pieces take that are alive during all of its range.
    throughout: Vec<Taken>,
    /// By node, what pieces take that are alive at any time of its range; but for those that are
    /// alive during all of a larger range.
    within: Vec<Taken>,
}

impl Space {
    /// Without pieces, for a program of `times` operations.
    pub(super) fn new(times: usize) -> Self {
        let leaves = times.next_power_of_two();
        Self {
            leaves,
            throughout: vec![Taken::default(); 2 * leaves],
            within: vec![Taken::default(); 2 * leaves],
        }
    }

    /// The offset of the tightest gap of at least `bytes` between the pieces that are alive at any
    /// time from `alive.0` to `alive.1`, or the end of the last of them.
    pub(super) fn fit(&self, alive: (usize, usize), bytes: usize) -> usize {
        let mut taken: Vec<(usize, usize)> = vec![];
        for node in self.ranges(alive) {
            taken.extend(&self.within[node].0);
        }
        for node in self.around(alive) {
            taken.extend(&self.throughout[node].0);
        }
        taken.sort_unstable();
        let mut end = 0;
        let mut tightest: Option<(usize, usize)> = None;
        for (from, to) in taken {
            if let Some(gap) = from.checked_sub(end).filter(|gap| *gap >= bytes)
                && tightest.is_none_or(|(smallest, _)| gap < smallest)
            {
                tightest = Some((gap, end));
            }
            end = end.max(to);
        }
        tightest.map_or(end, |(_, start)| start)
    }

    /// Takes the bytes from one offset to another; the next piece starts at a multiple of the
    /// alignment.
    pub(super) fn add(&mut self, alive: (usize, usize), from: usize, to: usize) {
        let to = aligned(to);
        for node in self.ranges(alive) {
            self.throughout[node].add(from, to);
            self.within[node].add(from, to);
        }
        for node in self.around(alive) {
            self.within[node].add(from, to);
        }
    }

    /// The fewest nodes whose ranges together are that time.
    fn ranges(&self, alive: (usize, usize)) -> Vec<usize> {
        let (mut low, mut high) = (alive.0 + self.leaves, alive.1 + self.leaves + 1);
        let mut nodes = vec![];
        while low < high {
            if low % 2 == 1 {
                nodes.push(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                nodes.push(high);
            }
            (low, high) = (low / 2, high / 2);
        }
        nodes
    }

    /// The nodes whose ranges have the first or the last of that time, each once.
    fn around(&self, alive: (usize, usize)) -> Vec<usize> {
        let (mut low, mut high) = (alive.0 + self.leaves, alive.1 + self.leaves);
        let mut nodes = vec![];
        while low > 0 {
            nodes.push(low);
            if high != low {
                nodes.push(high);
            }
            (low, high) = (low / 2, high / 2);
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Placed = ((usize, usize), usize, usize);

    /// The same by a look at every other piece.
    fn by_looking(placed: &[Placed], alive: (usize, usize), bytes: usize) -> usize {
        let mut others: Vec<&Placed> = placed.iter().collect();
        others.sort_by_key(|piece| piece.1);
        let mut end = 0;
        let mut tightest: Option<(usize, usize)> = None;
        for (other, from, to) in others {
            if other.0 > alive.1 || alive.0 > other.1 {
                continue;
            }
            if let Some(gap) = from.checked_sub(end).filter(|gap| *gap >= bytes)
                && tightest.is_none_or(|(smallest, _)| gap < smallest)
            {
                tightest = Some((gap, end));
            }
            end = end.max(aligned(*to));
        }
        tightest.map_or(end, |(_, start)| start)
    }

    proptest! {
        #[test]
        fn a_piece_has_the_place_that_a_look_at_all_others_gives(
            pieces in prop::collection::vec((0..40_usize, 0..40_usize, 1..3000_usize), 1..60),
        ) {
            let mut space = Space::new(40);
            let mut placed: Vec<Placed> = vec![];
            for (a, b, bytes) in pieces {
                let alive = (a.min(b), a.max(b));
                let offset = space.fit(alive, bytes);
                prop_assert_eq!(offset, by_looking(&placed, alive, bytes));
                space.add(alive, offset, offset + bytes);
                placed.push((alive, offset, offset + bytes));
            }
        }
    }
}
