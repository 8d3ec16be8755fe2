//! Functions that the trainer calls during a run.

use super::checkpoint::{EpochRecord, Progress};
use super::step::StepMetrics;
use spikelet_core::Result;
use spikelet_nn::runtime::VarStore;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// A function that is called before an epoch with its number, counted from 0, and the tensors of the run.
pub(super) type BeforeEpoch = Box<dyn Fn(usize, &mut VarStore) -> Result<()> + Send + Sync>;

/// A function that is called after a step with its number, counted from 1.
pub(super) type OnStep = Box<dyn Fn(u64, &StepMetrics) + Send + Sync>;

/// A function that is called after an epoch; `Break` ends the run.
pub(super) type OnEpoch = Box<dyn Fn(&EpochRecord) -> ControlFlow<()> + Send + Sync>;

/// A function that is called when a checkpoint has been written.
pub(super) type OnCheckpoint = Arc<dyn Fn(&Path, &Progress) + Send + Sync>;

/// A function that is called with the tensors of the network.
pub(super) type OnWeights = Box<dyn Fn(&VarStore) -> Result<()> + Send + Sync>;

/// The functions of a trainer.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) before_epoch: Option<BeforeEpoch>,
    pub(super) step: Option<OnStep>,
    pub(super) epoch: Option<OnEpoch>,
    pub(super) checkpoint: Option<OnCheckpoint>,
    pub(super) improvement: Option<OnWeights>,
    pub(super) end: Option<OnWeights>,
}
