//! The arena: the one piece of memory that all values of a plan share.
//!
//! Every piece that is asked for has a size and a lifetime. Pieces are placed one by one, each in the
//! tightest gap between those that are alive at the same time; of several orders the best is taken.

mod space;

use crate::graph::ValueId;
use space::Space;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Offsets are multiples of this: a cache line, and the alignment of loads on GPUs.
pub(crate) const ALIGNMENT: usize = 256;

/// Smaller pieces fit anywhere.
const LARGE: usize = 1 << 20;

/// A piece of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The value that it holds, or `None` for a kernel's workspace.
    pub value: Option<ValueId>,
    /// Its offset in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// The first and the last node during which it is alive.
    pub alive: (usize, usize),
}

impl Allocation {
    /// One past its last byte.
    fn end(&self) -> usize {
        self.offset.saturating_add(self.bytes)
    }
}

/// Gives every piece its place, in the order that makes the arena smallest: the largest first, those
/// that take most for longest, or those that live to the end.
pub(crate) fn assign(requests: &mut [Allocation]) -> usize {
    let all = || (0..requests.len()).collect::<Vec<usize>>();
    let (mut by_size, mut by_area, mut by_end) = (all(), all(), all());
    by_size.sort_by_key(|&i| (Reverse(requests[i].bytes), requests[i].alive, i));
    by_area.sort_by_key(|&i| {
        let Allocation { bytes, alive, .. } = requests[i];
        let area = bytes.saturating_mul(1 + alive.1 - alive.0);
        (Reverse(area), alive, i)
    });
    by_end.sort_by_key(|&i| {
        let Allocation { bytes, alive, .. } = requests[i];
        (bytes < LARGE, Reverse(alive.1), alive.0, Reverse(bytes), i)
    });
    let mut smallest: Option<(usize, Vec<usize>)> = None;
    for order in [by_size, by_area, by_end] {
        let bytes = place(requests, &order);
        if smallest.as_ref().is_none_or(|(least, _)| bytes < *least) {
            smallest = Some((bytes, requests.iter().map(|r| r.offset).collect()));
        }
    }
    let (bytes, offsets) = smallest.unwrap_or_default();
    for (request, offset) in requests.iter_mut().zip(offsets) {
        request.offset = offset;
    }
    bytes
}

/// Places pieces one by one, each in the tightest gap between those that are alive at the same
/// time, or behind them. Returns where the last ends.
fn place(requests: &mut [Allocation], order: &[usize]) -> usize {
    let times = requests.iter().map(|r| r.alive.1 + 1).max();
    let mut space = Space::new(times.unwrap_or(0));
    let mut total = 0;
    for request in order {
        let piece = &mut requests[*request];
        piece.offset = space.fit(piece.alive, piece.bytes);
        space.add(piece.alive, piece.offset, piece.end());
        total = total.max(piece.end());
    }
    aligned(total)
}

/// The next offset at which a piece may start; `usize::MAX` where there is none, which no device's
/// memory has.
fn aligned(offset: usize) -> usize {
    offset
        .checked_next_multiple_of(ALIGNMENT)
        .unwrap_or(usize::MAX)
}

/// Whether no two pieces that are alive at the same time overlap, and all lie inside the arena.
pub(crate) fn is_sound(allocations: &[Allocation], bytes: usize) -> bool {
    let inside = |a: &Allocation| a.end() <= bytes && a.offset.is_multiple_of(ALIGNMENT);
    if !allocations.iter().all(inside) {
        return false;
    }
    let mut order: Vec<&Allocation> = allocations.iter().collect();
    order.sort_by_key(|a| a.alive.0);
    // The ends of the live ranges by their starts, and the time at which each ends.
    let mut alive: BTreeMap<usize, usize> = BTreeMap::new();
    let mut gone: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    for new in order {
        while let Some(Reverse((last, offset))) = gone.peek().copied()
            && last < new.alive.0
        {
            gone.pop();
            alive.remove(&offset);
        }
        let below = alive.range(..new.end()).next_back();
        if below.is_some_and(|(_, end)| *end > new.offset) {
            return false;
        }
        if new.bytes > 0 {
            alive.insert(new.offset, new.end());
            gone.push(Reverse((new.alive.1, new.offset)));
        }
    }
    true
}
