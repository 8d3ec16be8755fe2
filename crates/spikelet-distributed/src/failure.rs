//! What ended a run of several ranks.

use std::error::Error;
use std::fmt::{self, Display};
use std::sync::Arc;

/// Which rank ended the run, why, and where it can go on.
#[derive(Clone, Debug)]
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
    /// The error that this process failed with, if it did.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
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

impl From<RankError> for spikelet_core::Error {
    fn from(error: RankError) -> Self {
        Self::other(error)
    }
}

impl Error for RankError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
