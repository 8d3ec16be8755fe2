//! Ctrl-C saves and ends a run; a second Ctrl-C ends the process.

use spikelet_core::signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether a run should end; called between batches.
pub(super) type EndRequest = Arc<dyn Fn() -> bool + Send + Sync>;

/// The number of runs that catch signals.
static LISTENING: Mutex<usize> = Mutex::new(0);

/// While it exists, the first Ctrl-C (SIGTERM, SIGHUP) is a request. After it, and after the last run, signals have
/// their previous effect.
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

/// The signal handler: it stores a flag and makes system calls.
extern "C" fn note(_signal: i32) {
    REQUESTED.store(true, Ordering::SeqCst);
    signals::release(note);
}

/// Whether an end was requested.
pub(super) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
