//! What ended a run of several ranks.

use std::fmt::{self, Display};

/// Which rank ended the run, why, and where it can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankError {
    /// The rank that ended it.
    pub rank: usize,
    /// How many ranks there were.
    pub size: usize,
    /// The rank's host.
    pub host: String,
    /// What happened to it.
    pub reason: String,
    /// The last checkpoint that can be resumed, in words.
    pub checkpoint: Option<String>,
    /// Whether it was this process that failed.
    pub own: bool,
}

impl Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rank,
            size,
            host,
            reason,
            ..
        } = self;
        write!(
            f,
            "rank {rank} of {size} on {host}: {reason}\n  checkpoint: "
        )?;
        match &self.checkpoint {
            Some(checkpoint) => write!(f, "{checkpoint}; go on with the same command and --resume"),
            None => f.write_str("there is none yet"),
        }
    }
}

impl std::error::Error for RankError {}
