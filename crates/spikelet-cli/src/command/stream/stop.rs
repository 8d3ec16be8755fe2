//! Ctrl-C, SIGTERM and SIGHUP end a stream whose weights are saved; a second signal ends the process.

use spikelet::signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// While it exists, the first signal is a request.
pub struct Stop;

impl Stop {
    pub fn on_signals() -> Self {
        signals::catch(note);
        Self
    }

    pub fn requested(&self) -> bool {
        REQUESTED.load(Ordering::SeqCst)
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

/// The signal handler: it stores a flag and makes system calls.
extern "C" fn note(_signal: i32) {
    REQUESTED.store(true, Ordering::SeqCst);
    signals::release(note);
}
