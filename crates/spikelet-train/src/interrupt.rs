//! Ctrl-C ends a run cleanly; a second one does what it does without a run: it ends the process.

use spikelet_core::signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether a run is to end; it is asked between batches.
pub(super) type EndRequest = Arc<dyn Fn() -> bool + Send + Sync>;

/// Runs that listen.
static LISTENING: Mutex<usize> = Mutex::new(0);

/// While there is one, the first Ctrl-C (SIGTERM, SIGHUP) is a request. After it, and after the last
/// run, signals do what they did before.
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
