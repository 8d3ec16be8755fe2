//! What processes that run the same program tell each other.

use crate::error::Result;

/// A group of ranks: processes, on one host or several, that run the same program and meet at the
/// same points of it. All ranks must make the same calls in the same order.
///
/// Values go through the host; groups of GPUs bring their own way to add gradients, and use this
/// one to find each other.
pub trait ProcessGroup: Send + Sync {
    /// This process's number, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Replaces each value by its sum over all ranks: the same bits on every rank, and in every
    /// run of as many ranks.
    ///
    /// # Errors
    /// When a rank is gone, does not answer in time, or brings another number of values.
    fn all_reduce(&self, values: &mut [f32]) -> Result<()>;

    /// Replaces the bytes by those of rank `root`.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> Result<()>;

    /// Waits until every rank is here.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    fn barrier(&self) -> Result<()>;
}
