//! Ctrl-C saves and ends a run; a second Ctrl-C, half a second later, ends the process.

use spikelet_core::signals::{self, Requests};
use std::sync::{Arc, Mutex, PoisonError};

static REQUESTS: Requests = Requests::new();

/// Whether a run should end; called between batches.
pub(super) type EndRequest = Arc<dyn Fn() -> bool + Send + Sync>;

/// The number of runs that catch signals.
static LISTENING: Mutex<usize> = Mutex::new(0);

/// While it exists, Ctrl-C (SIGTERM, SIGHUP) is a request; see [`Requests`]. After the last run, signals have their previous
/// effect.
pub(super) struct Listening;

impl Listening {
    pub(super) fn start() -> Self {
        *LISTENING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        signals::catch(note);
        Self
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        *listening -= 1;
        if *listening == 0 {
            signals::release(note);
        }
    }
}

/// The signal handler.
extern "C" fn note(signal: i32) {
    REQUESTS.note(signal, note);
}

/// Whether an end was requested.
pub(super) fn requested() -> bool {
    REQUESTS.any()
}
