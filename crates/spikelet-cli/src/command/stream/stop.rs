//! Ctrl-C, SIGTERM and SIGHUP end a stream whose weights are saved; a second one of the same kind, half a second
//! later, ends the process.

use spikelet::signals::{self, Requests};
use std::time::{Duration, Instant};

static REQUESTS: Requests = Requests::new();

/// While it exists, the first signal is a request.
pub struct Stop;

impl Stop {
    pub fn on_signals() -> Self {
        signals::catch(note);
        Self
    }

    pub fn requested(&self) -> bool {
        REQUESTS.any()
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        signals::release(note);
    }
}

/// Sleeps, at most until a stop is requested.
pub fn sleep(duration: Duration, stop: Option<&Stop>) {
    const SLICE: Duration = Duration::from_millis(50);
    let begin = Instant::now();
    while !stop.is_some_and(Stop::requested) {
        let left = duration.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(SLICE));
    }
}

/// The signal handler.
extern "C" fn note(signal: i32) {
    REQUESTS.note(signal, note);
}
