//! The tasks of a pipeline: a pass of a stage for a micro-batch.

use serde::Serialize;

/// The phase of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The forward pass of the stage.
    Forward,
    /// The loss and its gradient, after the last stage.
    Loss,
    /// The backward pass of the stage.
    Backward,
}

/// A micro-batch, or one chunk of its time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct MicroBatch {
    /// The index of the micro-batch in the batch.
    pub index: usize,
    /// The index of the chunk of time.
    pub chunk: usize,
}

/// A task of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Task {
    /// The phase.
    pub phase: Phase,
    /// The stage.
    pub stage: usize,
    /// The micro-batch and its chunk. The loss is that of all chunks, and has the last one here.
    pub micro_batch: MicroBatch,
}
