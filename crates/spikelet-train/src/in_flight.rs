//! Steps that the device is at while the host goes on.

use super::PendingMetrics;
use super::step::StepMetrics;
use spikelet_core::Result;
use std::collections::VecDeque;

/// How many steps may be started before the first of them is waited for: one that runs, and one
/// that is ready to follow it.
const MOST: usize = 2;

/// Steps that were started, oldest first, each with a note of what it was.
///
/// At most two: one that runs, and one that is ready to follow it.
pub struct InFlight<T> {
    steps: VecDeque<(PendingMetrics, T)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> InFlight<T> {
    /// No steps yet.
    pub fn new() -> Self {
        Self {
            steps: VecDeque::with_capacity(MOST),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds a step that was started, after room was made for it.
    pub fn push(&mut self, outcome: PendingMetrics, note: T) {
        self.steps.push_back((outcome, note));
    }

    /// Waits for the oldest step if no other may be started beside those that are under way.
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
