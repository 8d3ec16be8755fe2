//! Steps that run on the device while the host continues.

use super::step::{PendingMetrics, StepMetrics};
use spikelet_core::Result;
use std::collections::VecDeque;
use std::fmt;

/// The maximal number of started steps: one that runs and one that is queued.
const MOST: usize = 2;

/// Started steps, the oldest first, each with a note.
///
/// At most two: one that runs, and one that is queued.
pub struct InFlight<T> {
    steps: VecDeque<(PendingMetrics, T)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> InFlight<T> {
    /// No steps.
    pub fn new() -> Self {
        Self {
            steps: VecDeque::with_capacity(MOST),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds a step that was started, after [`InFlight::wait_if_full`].
    pub fn push(&mut self, outcome: PendingMetrics, note: T) {
        self.steps.push_back((outcome, note));
    }

    /// Waits for the oldest step if no other step can be started.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn wait_if_full(&mut self) -> Result<Option<(StepMetrics, T)>> {
        if self.len() < MOST {
            return Ok(None);
        }
        self.wait_for_oldest()
    }

    /// Waits for the oldest step; `None` if there is none.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn wait_for_oldest(&mut self) -> Result<Option<(StepMetrics, T)>> {
        let oldest = self.steps.pop_front();
        oldest
            .map(|(outcome, note)| Ok((outcome.wait()?, note)))
            .transpose()
    }
}

impl<T> fmt::Debug for InFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}
