//! Where the devices' threads leave what others wait for.

use super::timetable::Task;
use spikelet_core::{Error, Result};
use spikelet_graph::{DeviceTransfer, Event};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A tensor for a stage.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) parcel: Arc<dyn DeviceTransfer>,
    /// The stage that it is for.
    pub(super) to: usize,
}

/// When what tasks have sent has arrived, by the task.
pub(super) type Arrivals = HashMap<Task, Arc<dyn Event>>;

#[derive(Default)]
struct State {
    /// What tasks have sent, by the task.
    letters: HashMap<Task, Message>,
    arrived: Arrivals,
    /// Whether a thread has failed, so that nobody need wait any more.
    failed: bool,
}

/// Letters between the devices' threads.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, from: Task, letter: Message) {
        self.state().letters.insert(from, letter);
        self.changed.notify_all();
    }

    pub(super) fn has_arrived(&self, from: Task, moment: Arc<dyn Event>) {
        self.state().arrived.insert(from, moment);
        self.changed.notify_all();
    }

    /// When what a task sent had arrived, if it has.
    pub(super) fn arrival(&self, from: Task) -> Option<Arc<dyn Event>> {
        self.state().arrived.get(&from).cloned()
    }

    pub(super) fn fail(&self) {
        self.state().failed = true;
        self.changed.notify_all();
    }

    /// Takes all letters for which `mine` holds; waits for the first one if there is none, unless
    /// `enough` holds.
    ///
    /// # Errors
    /// When another thread has failed.
    pub(super) fn take(
        &self,
        mine: &dyn Fn(&Task, &Message) -> bool,
        enough: &dyn Fn(&Arrivals) -> bool,
    ) -> Result<Vec<(Task, Message)>> {
        let mut state = self.state();
        loop {
            if state.failed {
                return Err(stopped());
            }
            let chosen: Vec<Task> = (state.letters.iter())
                .filter(|(task, letter)| mine(task, letter))
                .map(|(task, _)| *task)
                .collect();
            if !chosen.is_empty() || enough(&state.arrived) {
                let taken = chosen.into_iter().filter_map(|task| {
                    let letter = state.letters.remove(&task)?;
                    Some((task, letter))
                });
                return Ok(taken.collect());
            }
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What threads say that stopped because of another one.
pub(super) fn stopped() -> Error {
    Error::invalid(
        "pipeline",
        "another device has failed".to_string(),
        "see its error",
    )
}
