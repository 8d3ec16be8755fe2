//! The place of a step among the processes that train together.

/// The rank of a data-parallel training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RankInfo {
    /// The rank, counted from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
}

impl Default for RankInfo {
    /// A single rank.
    fn default() -> Self {
        Self { rank: 0, ranks: 1 }
    }
}
