//! Steps that the device is at while the host goes on.

use super::PendingOutcome;
use super::step::Outcome;
use crate::error::Result;
use std::collections::VecDeque;

/// How many steps may be started before the first of them is waited for: one that runs, and one
/// that is ready to follow it.
const MOST: usize = 2;

/// Steps that were started, oldest first, each with a note of what it was.
pub(super) struct InFlight<T> {
    steps: VecDeque<(PendingOutcome, T)>,
}

impl<T> InFlight<T> {
    pub(super) fn new() -> Self {
        Self {
            steps: VecDeque::with_capacity(MOST),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn push(&mut self, outcome: PendingOutcome, note: T) {
        self.steps.push_back((outcome, note));
    }

    /// Waits for the oldest step if no other may be started beside those that are under way.
    pub(super) fn make_room(&mut self) -> Result<Option<(Outcome, T)>> {
        if self.len() < MOST {
            return Ok(None);
        }
        self.next()
    }

    /// Waits for the oldest step; `None` if there is none.
    pub(super) fn next(&mut self) -> Result<Option<(Outcome, T)>> {
        let oldest = self.steps.pop_front();
        oldest
            .map(|(outcome, note)| Ok((outcome.wait()?, note)))
            .transpose()
    }
}
