//! Communication between processes that run the same program.

use crate::error::Result;

/// A group of ranks: processes, on one host or several, that run the same program. All ranks must
/// make the same calls in the same order.
///
/// Values are communicated through the host. Groups of GPUs sum gradients through NCCL and use this
/// group to connect to each other.
pub trait ProcessGroup: Send + Sync {
    /// The rank of this process, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Replaces each value by its sum over all ranks, with the same bits on every rank and in every
    /// run with the same number of ranks.
    ///
    /// # Errors
    /// When a rank is lost, does not answer in time, or passes another number of values.
    fn all_reduce(&self, values: &mut [f32]) -> Result<()>;

    /// Replaces the bytes by those of rank `root`.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> Result<()>;

    /// Waits until every rank has made this call.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    fn barrier(&self) -> Result<()>;
}
