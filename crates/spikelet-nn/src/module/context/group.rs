//! Data-parallel processes.

use super::Context;

/// The processes that run the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The number of processes, each with a part of the batch.
    pub(super) ranks: usize,
    /// Whether batch norm uses the statistics of all of them.
    pub(super) sync_batch_norm: bool,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            ranks: 1,
            sync_batch_norm: false,
        }
    }
}

impl Context {
    /// The number of processes that run the program together: 1 without [`Trace::in_group`](super::Trace::in_group).
    pub fn ranks(&self) -> usize {
        self.group.ranks
    }

    /// Whether batch norm uses the statistics of all ranks.
    pub fn syncs_batch_norm(&self) -> bool {
        self.group.sync_batch_norm && self.group.ranks > 1
    }
}
