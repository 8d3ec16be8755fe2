//! Ctrl-C ends a run cleanly; a second one ends it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// What shells report of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// From now on the first Ctrl-C (or SIGTERM) is a request, the second ends the process.
pub(super) fn install() {
    INSTALLED.get_or_init(|| {
        // Where a program has its own handler, that one stays and requests never come.
        let _ = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) {
                std::process::exit(INTERRUPTED);
            }
        });
    });
}

/// Whether an end was requested.
pub(super) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
