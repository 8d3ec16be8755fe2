//! Messages between the threads of the devices.

use super::error::PipelineError;
use super::task::Task;
use spikelet_core::Result;
use spikelet_graph::{DeviceTransfer, Event};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A tensor that is transferred to a stage.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) transfer: Arc<dyn DeviceTransfer>,
    /// The receiving stage.
    pub(super) to: usize,
}

/// The events at which the tensors that tasks have sent arrived.
pub(super) type Arrivals = HashMap<Task, Arc<dyn Event>>;

#[derive(Default)]
struct State {
    /// The sent messages, by the sending task.
    messages: HashMap<Task, Message>,
    arrived: Arrivals,
    /// Whether a thread has failed: the others stop.
    failed: bool,
}

/// Messages between the threads of the devices.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, from: Task, message: Message) {
        self.state().messages.insert(from, message);
        self.changed.notify_all();
    }

    pub(super) fn has_arrived(&self, from: Task, event: Arc<dyn Event>) {
        self.state().arrived.insert(from, event);
        self.changed.notify_all();
    }

    /// The event at which the tensor of a task arrived, if it has.
    pub(super) fn arrival(&self, from: Task) -> Option<Arc<dyn Event>> {
        self.state().arrived.get(&from).cloned()
    }

    pub(super) fn fail(&self) {
        self.state().failed = true;
        self.changed.notify_all();
    }

    /// Takes all messages for which `mine` holds. Without such a message it waits for the first one,
    /// unless `enough` holds.
    ///
    /// # Errors
    /// [`PipelineError::Stopped`] when another thread has failed.
    pub(super) fn take(
        &self,
        mine: &dyn Fn(&Task, &Message) -> bool,
        enough: &dyn Fn(&Arrivals) -> bool,
    ) -> Result<Vec<(Task, Message)>> {
        let mut state = self.state();
        loop {
            if state.failed {
                return Err(PipelineError::Stopped.into());
            }
            let chosen: Vec<Task> = (state.messages.iter())
                .filter(|(task, message)| mine(task, message))
                .map(|(task, _)| *task)
                .collect();
            if !chosen.is_empty() || enough(&state.arrived) {
                let taken = chosen.into_iter().filter_map(|task| {
                    let message = state.messages.remove(&task)?;
                    Some((task, message))
                });
                return Ok(taken.collect());
            }
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
